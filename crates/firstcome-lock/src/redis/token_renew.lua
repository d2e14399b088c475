-- Renews many token locks, each only if it still holds its token.
--
-- KEYS  the locks
-- ARGV  1 lease (ms), 0 to look without renewing  2… a token for each lock
-- Gives 1 or 0 for each lock.

local answers = {}
for i, lock in ipairs(KEYS) do
    local held = redis.pcall('GET', lock) == ARGV[i + 1]
    if held and ARGV[1] ~= '0' then
        redis.call('PEXPIRE', lock, ARGV[1])
    end
    answers[i] = held and 1 or 0
end
return answers
