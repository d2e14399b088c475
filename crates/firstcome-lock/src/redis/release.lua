-- Gives back one hold; the last one frees the lock and wakes those who wait.
--
-- KEYS  1 lock  2 channel  3 latch of this request
-- ARGV  1 owner  2 lease (ms) for the holds that remain  3 life of the latch (ms)  4 '1' if the owner may hold it
--       several times
-- Gives the holds that remain, or nil where the owner holds nothing. The latch makes sending it again harmless.

local holds = redis.call('HGET', KEYS[1], ARGV[1])
-- An owner that takes a lock only once and still has it has not been here before.
if not holds or ARGV[4] == '1' then
    local latch = redis.call('GET', KEYS[3])
    if latch then
        return latch == '1' and 0 or tonumber(holds or 0)
    end
    if not holds then
        return nil
    end
end

if holds ~= '1' then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('SET', KEYS[3], '0', 'PX', ARGV[3])
    return redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
redis.call('SET', KEYS[3], '1', 'PX', ARGV[3])
return 0
