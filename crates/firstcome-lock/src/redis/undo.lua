-- Takes back a hold whose acquire got no answer, down to the holds its owner knows of.
--
-- KEYS  1 lock  2 channel
-- ARGV  1 owner  2 holds to keep
-- Gives {1 if something was taken back, now}. By now it can be told whether the acquire may still arrive.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local holds = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
local keep = tonumber(ARGV[2])
if holds <= keep then
    return {0, now}
end
if keep > 0 then
    redis.call('HSET', KEYS[1], ARGV[1], keep)
else
    redis.call('DEL', KEYS[1])
    publish(KEYS[2], '0')
end
return {1, now}
