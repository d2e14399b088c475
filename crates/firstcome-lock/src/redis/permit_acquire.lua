-- Takes a permit of a semaphore, which is Redisson's: the number of free permits. Who has one stands beside it with the end of the
-- lease, so that the permit of a process that died comes back; those of Redisson's own processes are not known.
--
-- KEYS  1 semaphore  2 fence counter  3 who has permits  4 channel
-- ARGV  1 owner  2 lease (ms)  3 and 4 as in late.lua and mint.lua  5 how many permits there are, where nobody has said so before
-- Gives {1, fence, now} to the owner, {0, remaining ms or -1, now} to others, {-1, 0, now} to a request that is late.

if not call('GET', KEYS[1]) then
    call('DEL', KEYS[3])
    call('SET', KEYS[1], ARGV[5])
end
local ended = call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 1000)
local free = tonumber(call('GET', KEYS[1])) + #ended
if free < 1 then
    local first = call('ZRANGE', KEYS[3], #ended, #ended, 'WITHSCORES')[2]
    return {0, first and math.ceil((first - now) / 1000) or -1, now}
end
local fence = mint()
-- The number first: if the user has no right to change who has permits, it is as it was.
call('INCRBY', KEYS[1], #ended - 1)
local changed = redis.pcall('ZADD', KEYS[3], now + ARGV[2] * 1000, ARGV[1])
if type(changed) ~= 'table' and #ended > 0 then
    changed = redis.pcall('ZREM', KEYS[3], unpack(ended))
end
if type(changed) == 'table' then
    redis.pcall('ZREM', KEYS[3], ARGV[1])
    call('INCRBY', KEYS[1], 1 - #ended)
    return changed
end
if #ended > 0 and free > 1 then
    pcall(publish, KEYS[4], free - 1)
end
return {1, fence, now}
