-- Notes that a node is there; gives who else is, and where the journal stands.
--
-- KEYS  1 head  2 nodes  3 skips
-- ARGV  1 space  2 node  3 what it says of itself  4 for how long it counts, µs  5 the level of the space as it knows it
--       6 for how long one that is gone is remembered, µs  7 how many of those
-- Gives {0, now, {the head's fields}, {node, when and what it said, …}, how many entries are skipped,
--        {gone node, when and what it said, …}, the last seen first};
--       {1} no head  {2, space} another space

local call = redis.call
local head = call('HMGET', KEYS[1],
    'space', 'shard', 'level', 'position', 'name', 'at', 'epoch', 'first')
if head[1] ~= ARGV[1] then
    if head[1] then
        return {2, head[1]}
    end
    return {1}
end
-- So that an older build refuses the space at once, and need not read on to the entry that raised it.
if tonumber(ARGV[5]) > tonumber(head[3]) then
    call('HSET', KEYS[1], 'level', ARGV[5])
    head[3] = ARGV[5]
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- A server without memory to spare lets a script write that began by removing something.
call('HDEL', KEYS[2], ARGV[2])
call('HSET', KEYS[2], ARGV[2], struct.pack('<i8', now) .. ARGV[3])
-- What a node says of itself ends with its address, and behind a blank its words.
local address = function(text, from) return string.match(string.sub(text, from), '^[^ ]*') end
local own = address(ARGV[3], 49)
local all, live, missed = call('HGETALL', KEYS[2]), {}, {}
for n = 1, #all, 2 do
    local age = now - struct.unpack('<i8', all[n + 1])
    if age < tonumber(ARGV[4]) then
        live[#live + 1] = all[n]
        live[#live + 1] = all[n + 1]
    elseif age < tonumber(ARGV[6]) and address(all[n + 1], 57) ~= own then
        missed[#missed + 1] = {age, all[n], all[n + 1]}
    else
        call('HDEL', KEYS[2], all[n])
    end
end
table.sort(missed, function(one, other) return one[1] < other[1] end)
local gone = {}
for n, node in ipairs(missed) do
    if n <= tonumber(ARGV[7]) then
        gone[#gone + 1] = node[2]
        gone[#gone + 1] = node[3]
    else
        call('HDEL', KEYS[2], node[2])
    end
end
return {0, now, head, live, call('HLEN', KEYS[3]), gone}
