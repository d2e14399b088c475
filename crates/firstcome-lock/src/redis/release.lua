-- Gives back one hold; the last one frees the lock and wakes those who wait.
--
-- KEYS  1 lock  2 channel  3 latch of this request
-- ARGV  1 owner  2 lease (ms) for the holds that remain  3 life of the latch (ms)
-- Gives the holds that remain, or nil where the owner holds nothing. The latch makes sending it again harmless.

local latch = redis.call('GET', KEYS[3])
if latch == '1' then
    return 0
elseif latch then
    return tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
    return nil
end

local holds = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if holds > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('SET', KEYS[3], '0', 'PX', ARGV[3])
    return holds
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
redis.call('SET', KEYS[3], '1', 'PX', ARGV[3])
return 0
