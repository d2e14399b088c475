-- Gives back a permit of a semaphore, and wakes those who wait.
--
-- KEYS  1 semaphore  2 channel  3 latch of this request  4 who has permits
-- ARGV  1 owner  2 unused  3 life of the latch (ms), 0 for none
-- Gives {1 where it was given back, now}. The latch makes sending it again harmless.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[3] ~= '0' and call('GET', KEYS[3]) then
    return {1, now}
end
local ends = call('ZSCORE', KEYS[4], ARGV[1])
if not ends then
    return {0, now}
end
call('ZREM', KEYS[4], ARGV[1])
-- Where somebody has removed the semaphore, whoever comes next says anew how many permits there are.
if call('EXISTS', KEYS[1]) == 1 then
    local free = redis.pcall('INCRBY', KEYS[1], 1)
    if type(free) == 'table' then
        call('ZADD', KEYS[4], ends, ARGV[1])
        return free
    end
    redis.pcall('PUBLISH', KEYS[2], free)
end
-- Its lease may be over, and nobody has needed the permit since.
local held = tonumber(ends) > now
if held and ARGV[3] ~= '0' then
    -- A server without room does not take it; then only a request that is sent again is not recognised.
    redis.pcall('SET', KEYS[3], '1', 'PX', ARGV[3])
end
return {held and 1 or 0, now}
