-- Takes a token lock: the same key and value as SET with NX and PX, and a fence.
--
-- KEYS  1 lock  2 fence counter
-- ARGV  1 token  2 lease (ms)  3 not after (µs of this server's clock)  4 life of the counter (ms)
-- Gives {1, fence, now}, {0, remaining ms, now}, or {-1, 0, now} to a request that is late.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
    return {-1, 0, now}
end
if redis.call('EXISTS', KEYS[1]) == 1 then
    return {0, redis.call('PTTL', KEYS[1]), now}
end
-- Minted first: a counter that cannot be written must not leave a lock behind that nobody knows of.
local fence = now
local last = redis.call('SET', KEYS[2], now, 'GET', 'PX', ARGV[4])
if last and tonumber(last) >= now then
    fence = tonumber(last) + 1
    redis.call('SET', KEYS[2], fence, 'KEEPTTL')
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, fence, now}
