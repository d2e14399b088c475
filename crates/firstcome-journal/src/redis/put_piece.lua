-- Stores a piece of a snapshot. One that is there already may stay for as long again.
--
-- KEYS  1 head  2 pieces  3 the piece
-- ARGV  1 space  2 name of the piece  3 its bytes
-- Gives {0}; {2, space} another space
--
-- There may be no head: a space that was lost is made again from its pieces.

local call = redis.call
local space = call('HGET', KEYS[1], 'space')
if space and space ~= ARGV[1] then
    return {2, space}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
call('SET', KEYS[3], ARGV[3])
-- Greater only: a piece that a manifest names stands at infinity.
call('ZADD', KEYS[2], 'GT', string.format('%.0f', now), ARGV[2])
return {0}
