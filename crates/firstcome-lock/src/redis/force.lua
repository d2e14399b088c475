-- Frees a lock whoever holds it, and wakes those who wait; leaves alone a key that is no lock.
--
-- KEYS  1 lock  2 channel  3 Redisson's queue of a fair lock  4 a latch that nobody has
-- ARGV  1 '1' for a token lock, whatever its token  2 Redisson's channel of a read/write lock
-- Gives 1, or 0 where it was free.

-- A replica, which may be behind, refuses this, and so does not say that the lock is free.
redis.call('DEL', KEYS[4])
local owner = holder(ARGV[1] == '1')
if not owner then
    return 0
elseif type(owner) == 'table' then
    return owner
end
publish(KEYS[2], '0')
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'hash' and redis.call('HEXISTS', KEYS[1], 'mode') == 1 then
    publish(ARGV[2], '0')
end
-- Of those who wait for a fair lock, each listens to a channel of its own.
local next = redis.pcall('LINDEX', KEYS[3], 0)
if type(next) == 'string' then
    publish(KEYS[2] .. ':' .. next, '0')
end
redis.call('DEL', KEYS[1])
return 1
