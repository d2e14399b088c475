-- Gives back a permit of a semaphore, and wakes those who wait.
--
-- KEYS  1 semaphore  2 channel  3 latch of this request  4 who has permits
-- ARGV  1 owner  2 as in latch.lua
-- Gives {1 where it was given back, now}. The latch makes sending it again harmless.

local ends = call('ZSCORE', KEYS[4], ARGV[1])
if not ends then
    return answer(false)
end
call('ZREM', KEYS[4], ARGV[1])
-- Where somebody has removed the semaphore, whoever comes next says anew how many permits there are.
if call('EXISTS', KEYS[1]) == 1 then
    local free = redis.pcall('INCRBY', KEYS[1], 1)
    if type(free) == 'table' then
        call('ZADD', KEYS[4], ends, ARGV[1])
        return free
    end
    pcall(publish, KEYS[2], free)
end
-- Its lease may be over, and nobody has needed the permit since.
local held = tonumber(ends) > now
return answer(held)
