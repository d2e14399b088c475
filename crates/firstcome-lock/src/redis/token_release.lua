-- Deletes a token lock if it still holds this token.
--
-- KEYS  1 lock
-- ARGV  1 token
-- Gives {1 if it was deleted, now}.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return {0, now}
end
redis.call('DEL', KEYS[1])
return {1, now}
