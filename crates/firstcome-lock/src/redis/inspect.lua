-- Tells who holds a lock.
--
-- KEYS  1 lock  2 fence counter  3 Redisson's fence counter
-- ARGV  1 '1' for a token lock, whatever its token
-- Gives nil, or {owner, holds, remaining ms (-1 for ever), last fence}.

local owner, holds = holder(ARGV[1] == '1')
if not owner then
    return nil
elseif type(owner) == 'table' then
    return owner
end
local ours = tonumber(redis.call('GET', KEYS[2]) or 0)
local theirs = tonumber(redis.call('GET', KEYS[3]) or 0)
-- Numbers of ours have ten digits at least. A thread of Redisson's has fewer, and mints nothing in our counter.
local number = string.match(owner, ':(%d+)')
if number and #number < 10 then
    ours = 0
end
return {owner, holds, redis.call('PTTL', KEYS[1]), math.max(ours, theirs)}
