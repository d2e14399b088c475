-- Writes a value if the fence is not lower than any seen before, nor the same from somebody else.
--
-- KEYS  1 the value  2 what was seen
-- ARGV  1 fence  2 owner  3 new value
-- Gives {1, fence}, or {0, the fence that stands in the way}.

local seen = redis.call('HMGET', KEYS[2], 'fence', 'owner')
local last = tonumber(seen[1] or -1)
local fence = tonumber(ARGV[1])
if fence < last or (fence == last and seen[2] ~= ARGV[2]) then
    return {0, last}
end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[2], 'fence', ARGV[1], 'owner', ARGV[2])
return {1, fence}
