-- Renews many locks, each only for its owner.
--
-- KEYS  the locks
-- ARGV  1 lease (ms), 0 to look without renewing  2… an owner for each lock
-- Gives 1 or 0 for each lock: whether its owner still holds it.

local answers = {}
for i, lock in ipairs(KEYS) do
    -- A key of another kind must not fail the whole batch.
    local held = redis.pcall('HEXISTS', lock, ARGV[i + 1]) == 1
    if held and ARGV[1] ~= '0' then
        redis.call('PEXPIRE', lock, ARGV[1])
    end
    answers[i] = held and 1 or 0
end
return answers
