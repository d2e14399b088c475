-- Notes that a node is there; gives who else is, and where the journal stands.
--
-- KEYS  1 head  2 nodes  3 skips
-- ARGV  1 space  2 node  3 what it says of itself  4 for how long it counts, µs  5 the level of the space as it knows it
-- Gives {0, now, {the head's fields}, {node, when and what it said, …}, how many entries are skipped};
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
local all, live = call('HGETALL', KEYS[2]), {}
for n = 1, #all, 2 do
    if now - struct.unpack('<i8', all[n + 1]) < tonumber(ARGV[4]) then
        live[#live + 1] = all[n]
        live[#live + 1] = all[n + 1]
    else
        call('HDEL', KEYS[2], all[n])
    end
end
return {0, now, head, live, call('HLEN', KEYS[3])}
