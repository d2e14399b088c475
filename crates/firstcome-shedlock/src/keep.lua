-- Has a lock of ShedLock's live on for a time, or frees it, if it still holds this value.
--
-- KEYS  1 lock
-- ARGV  1 value  2 how long it lives on (ms); 0 or less frees it
-- Gives 1 if the value was there, else 0.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
if tonumber(ARGV[2]) > 0 then
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return redis.call('DEL', KEYS[1])
