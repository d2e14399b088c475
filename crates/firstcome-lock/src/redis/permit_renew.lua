-- Renews holds of read/write locks and permits of semaphores, each only for its owner.
--
-- KEYS  of each: lock or semaphore, and what stands beside it, as for the scripts that take them
-- ARGV  1 lease (ms), 0 to look without renewing; then of each: 'read', 'write' or 'permit', and its field
-- Gives 1 or 0 for each: whether its owner still holds it.

local call, pcall = redis.call, redis.pcall
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local lease, answers = tonumber(ARGV[1]), {}
for i = 1, #KEYS, 2 do
    local lock, beside, what, field = KEYS[i], KEYS[i + 1], ARGV[i + 1], ARGV[i + 2]
    local held
    -- A key of another kind must not fail the whole batch.
    if what == 'permit' then
        local ends = pcall('ZSCORE', beside, field)
        held = type(ends) == 'string' and tonumber(ends) > now
        if held and lease > 0 then
            call('ZADD', beside, now + lease * 1000, field)
        end
    else
        held = pcall('HEXISTS', lock, field) == 1 and (what == 'write' or call('EXISTS', beside) == 1)
        if held and lease > 0 then
            if what == 'read' then
                call('PEXPIRE', beside, lease)
            end
            -- That of another reader may last longer.
            if what == 'write' or call('PTTL', lock) < lease then
                call('PEXPIRE', lock, lease)
            end
        end
    end
    answers[#answers + 1] = held and 1 or 0
end
return answers
