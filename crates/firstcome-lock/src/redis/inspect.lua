-- Tells who holds a lock.
--
-- KEYS  1 lock  2 fence counter
-- Gives nil, or {owner, holds, remaining ms (-1 for ever), last fence}.

local kind = redis.call('TYPE', KEYS[1]).ok
local fence = redis.call('GET', KEYS[2]) or '0'
if kind == 'none' then
    return nil
elseif kind == 'string' then
    return {redis.call('GET', KEYS[1]), '1', redis.call('PTTL', KEYS[1]), fence}
end
local fields = redis.call('HGETALL', KEYS[1])
return {fields[1], fields[2], redis.call('PTTL', KEYS[1]), fence}
