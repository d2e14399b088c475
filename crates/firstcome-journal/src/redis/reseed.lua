-- Has the journal go on after a state, in the place of all entries and snapshots, if it stands as the caller saw it.
--
-- KEYS  1 journal  2 head  3 manifests  4 pieces
-- ARGV  1 space  2 shard  3 level  4 position, 5 name, 6 epoch as seen; an empty position: nothing was there
--       7 position  8 name  9 time  10 epoch of the state  11 its manifest  12 what names of pieces become keys with
--       13 how many pieces  14 and on: their names
-- Gives {0}; and where nothing was changed: {1} no head  {2, space} another space
--       {7, head, name} it moved  {8, name} a piece is missing

local call, format = redis.call, string.format
local head = call('HMGET', KEYS[2], 'space', 'position', 'name', 'epoch', 'term')
if head[1] and head[1] ~= ARGV[1] then
    return {2, head[1]}
end
if ARGV[4] == '' then
    if head[1] then
        return {7, tonumber(head[2]), head[3]}
    end
elseif not head[1] then
    return {1}
elseif head[2] ~= ARGV[4] or head[3] ~= ARGV[5] or head[4] ~= ARGV[6] then
    return {7, tonumber(head[2]), head[3]}
end
local names = {}
for n = 14, 13 + ARGV[13] do
    if call('EXISTS', ARGV[12] .. ARGV[n]) == 0 then
        return {8, ARGV[n]}
    end
    names[#names + 1] = ARGV[n]
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- Terms go on from before. Where they were lost, they go on from the clock: nobody's was ever that high.
local term = head[5] or format('%.0f', math.floor(now / 1000000))
call('HSET', KEYS[2], 'position', ARGV[7], 'name', ARGV[8], 'at', ARGV[9], 'epoch', ARGV[10],
    'space', ARGV[1], 'first', format('%.0f', ARGV[7] + 1), 'shard', ARGV[2], 'level', ARGV[3], 'term', term)
call('UNLINK', KEYS[1])
-- The names of the last entries, which are no longer there.
local slots = {}
for slot = 0, 31 do
    slots[#slots + 1] = slot
end
call('HDEL', KEYS[2], unpack(slots))

local stored = call('HMGET', KEYS[3], 'pieces', 'before_pieces')
for _, pieces in ipairs({stored[1] or '', stored[2] or ''}) do
    for name in string.gmatch(pieces, '%x+') do
        call('ZADD', KEYS[4], format('%.0f', now), name)
    end
end
call('UNLINK', KEYS[3])
call('HSET', KEYS[3], 'position', ARGV[7], 'bytes', ARGV[11], 'pieces', table.concat(names, ' '))
for _, name in ipairs(names) do
    call('ZADD', KEYS[4], '+inf', name)
end
return {0}
