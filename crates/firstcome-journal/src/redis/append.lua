-- Appends a batch after the last entry, if what its node applied is what is stored.
--
-- KEYS  1 journal  2 head
-- ARGV  1 space  2 position the node applied last  3 name of the entry there  4 name of the new entry  5 its body
--       6 that position modulo 32
-- Gives 0, which costs the server a tenth less than a list; and where nothing was stored:
--       {1} no head  {2, space} another space  {3, head} the head is lower than what was applied
--       {4, name} another entry stands there  {5, first} the entry after it is no longer kept
--
-- This is what every accepted claim costs, so it makes three calls and asks for the time, and copies the body once
-- only: what is minted here is the name of the stream's field, and the body its value. The head has the names of the
-- last 32 entries beside its own fields, since reading an entry of the stream here would copy its body as well.
-- Numbers above 14 digits would lose some by tostring: %.0f keeps all.

local call, format = redis.call, string.format
local head = call('HMGET', KEYS[2], 'position', 'name', 'at', 'epoch', 'space', 'first', ARGV[6])
if head[5] ~= ARGV[1] then
    if head[5] then
        return {2, head[5]}
    end
    return {1}
end

local position, before = tonumber(head[1]), head[2]
local found = before
if head[1] ~= ARGV[2] then
    local applied = tonumber(ARGV[2])
    if applied > position then
        return {3, position}
    end
    if applied + 1 < tonumber(head[6]) then
        return {5, tonumber(head[6])}
    end
    found = head[7]
    if position - applied >= 32 or not found then
        -- The entry after it says who stands there: bytes 14 to 37 of its field are the name of the one before.
        local next = format('%.0f', applied + 1)
        local range = call('XRANGE', KEYS[1], next, next)
        if not range[1] then
            return {5, tonumber(head[6])}
        end
        found = string.sub(range[1][2][1], 14, 37)
    end
end
if found ~= ARGV[3] then
    return {4, found}
end

-- Read here, where nobody else can come in between: it never goes back along the journal.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local at = tonumber(head[3])
if now > at then
    at = now
end
position = position + 1
local id = format('%.0f', position)
call('XADD', KEYS[1], id, struct.pack('<Bi8I4', 1, at, head[4]) .. before, ARGV[5])
call('HSET', KEYS[2], 'position', id, 'name', ARGV[4], 'at', format('%.0f', at), position % 32, ARGV[4])
return 0
