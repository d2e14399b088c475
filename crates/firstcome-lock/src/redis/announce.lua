-- Records who leads, and tells those who watch; an older term never overwrites a newer one.
--
-- KEYS  1 record  2 channel
-- ARGV  1 term  2 node  3 owner of the lock  4 life of the record (ms)
-- Gives 1, or 0 where a newer term is on record.

local known = tonumber(redis.call('HGET', KEYS[1], 'term') or 0)
if known > tonumber(ARGV[1]) then
    return 0
end
redis.call('HSET', KEYS[1], 'term', ARGV[1], 'node', ARGV[2], 'owner', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
publish(KEYS[2], ARGV[1])
return 1
