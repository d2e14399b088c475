-- Gives back one hold of an owner that may have several; the last one frees the lock and wakes those who wait.
--
-- KEYS  1 lock  2 channel  3 latch of this request
-- ARGV  1 owner  2 lease (ms) for the holds that remain  3 life of the latch (ms)
-- Gives the holds that remain, or nil where the owner holds nothing, also where what it left has ended since. The latch
-- makes sending it again harmless.

local call = redis.call
local latch = call('GET', KEYS[3])
local holds = call('HGET', KEYS[1], ARGV[1])
if latch == '1' then
    return 0
elseif latch then
    return holds and tonumber(holds) or nil
elseif not holds then
    return nil
elseif holds ~= '1' then
    call('PEXPIRE', KEYS[1], ARGV[2])
    call('SET', KEYS[3], '0', 'PX', ARGV[3])
    return call('HINCRBY', KEYS[1], ARGV[1], -1)
end
call('HDEL', KEYS[1], ARGV[1])
publish(KEYS[2], '0')
call('SET', KEYS[3], '1', 'PX', ARGV[3])
return 0
