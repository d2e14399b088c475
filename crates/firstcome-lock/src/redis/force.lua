-- Frees a lock whoever holds it, and wakes those who wait.
--
-- KEYS  1 lock  2 channel
-- Gives 1, or 0 where it was free.

if redis.call('DEL', KEYS[1]) == 0 then
    return 0
end
redis.call('PUBLISH', KEYS[2], '0')
return 1
