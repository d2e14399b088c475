-- Takes a fair lock if it is free and nobody is before the owner in line, and otherwise has it stand in line, if it waits.
--
-- KEYS  1 lock  2 fence counter  3 line  4 until when each is waited for
-- ARGV  1 owner, who asks again as the same one while it waits  2 lease (ms)  3 and 4 as in late.lua and mint.lua  5 for how long a waiter is
--       waited for (ms)  6 '1' for one who waits
-- Gives {1, fence, now} to the owner, {0, remaining ms, now} to others, {-1, 0, now} to a request that is late.

local ms, wait = math.floor(now / 1000), tonumber(ARGV[5])
if call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    -- It was given to an earlier request.
    call('PEXPIRE', KEYS[1], ARGV[2])
    return {1, tonumber(call('GET', KEYS[2]) or mint()), now}
end
local head, deadline = next_in_line(KEYS[3], KEYS[4], ms)
local left = call('PTTL', KEYS[1])
if left == -2 and (not head or head == ARGV[1]) then
    local fence = mint()
    if head then
        call('LPOP', KEYS[3])
        call('ZREM', KEYS[4], head)
        -- Those behind it had been given its time, too.
        for _, other in ipairs(call('ZRANGEBYSCORE', KEYS[4], ms + wait, '+inf')) do
            give_time_back(KEYS[4], other, wait, ms)
        end
    end
    call('HSET', KEYS[1], ARGV[1], '1')
    call('PEXPIRE', KEYS[1], ARGV[2])
    return {1, fence, now}
end
if ARGV[6] == '1' then
    local mine = tonumber(call('ZSCORE', KEYS[4], ARGV[1]))
    if not mine then
        local last = call('LINDEX', KEYS[3], -1)
        local after = tonumber(last and call('ZSCORE', KEYS[4], last)) or ms + math.max(left, 0)
        call('ZADD', KEYS[4], after + wait, ARGV[1])
        call('RPUSH', KEYS[3], ARGV[1])
    elseif mine < ms + wait then
        -- It asks, so it is there: nobody may drop it from the line.
        call('ZADD', KEYS[4], ms + wait, ARGV[1])
    end
end
if left == -2 then
    -- It is free for who is next, for as long as that one is waited for. One of ours asks again before that; its number is longer than
    -- that of a thread of Redisson's.
    deadline = tonumber(deadline) or ms + 1000
    if deadline > ms + wait and #(string.match(head, ':(%d+)$') or '') >= 10 then
        deadline = ms + wait
        call('ZADD', KEYS[4], deadline, head)
    end
    left = math.max(1, deadline - ms)
end
return {0, left, now}
