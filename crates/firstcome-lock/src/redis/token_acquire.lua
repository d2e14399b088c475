-- Takes a token lock: the same key and value as SET with NX and PX, and a fence.
--
-- KEYS  1 lock  2 fence counter
-- ARGV  1 token  2 lease (ms)  3 and 4 as in late.lua and mint.lua
-- Gives {1, fence, now}, {0, remaining ms, now}, or {-1, 0, now} to a request that is late.

if call('EXISTS', KEYS[1]) == 1 then
    return {0, call('PTTL', KEYS[1]), now}
end
-- Minted first: a counter that cannot be written must not leave a lock behind that nobody knows of.
local fence = mint()
call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, fence, now}
