-- Has an entry skipped by everybody, if nobody has applied it.
--
-- KEYS  1 head  2 nodes  3 manifests  4 skips  5 journal
-- ARGV  1 space  2 position  3 name of the entry  4 record  5 for how long a heartbeat counts, µs
-- Gives {0}; and where nothing was changed: {1} no head  {2, space} another space  {3, head} the head is lower
--       {4, name} another entry stands there  {5, first} it is no longer kept  {11, who} somebody has applied it

local call = redis.call
local head = call('HMGET', KEYS[1], 'space', 'position', 'name', 'first')
if head[1] ~= ARGV[1] then
    if head[1] then
        return {2, head[1]}
    end
    return {1}
end
local position = tonumber(ARGV[2])
if position > tonumber(head[2]) then
    return {3, tonumber(head[2])}
end
local found = head[3]
if ARGV[2] ~= head[2] then
    local id = function(n) return string.format('%.0f-0', n) end
    local range = call('XRANGE', KEYS[5], id(position), id(position + 1))
    if not range[2] then
        return {5, tonumber(head[4])}
    end
    found = string.sub(range[2][2][1], 14, 37)
end
if found ~= ARGV[3] then
    return {4, found}
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local all = call('HGETALL', KEYS[2])
for n = 2, #all, 2 do
    local seen, applied = struct.unpack('<i8i8', all[n])
    if now - seen < tonumber(ARGV[5]) and applied >= position then
        return {11, 'the server at ' .. string.match(string.sub(all[n], 57), '^[^ ]*')}
    end
end
if tonumber(call('HGET', KEYS[3], 'position') or 0) >= position then
    return {11, 'whoever wrote the newest snapshot'}
end
call('HSET', KEYS[4], ARGV[2], ARGV[4])
return {0}
