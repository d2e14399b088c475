-- Makes a manifest a snapshot. The two that are furthest on are kept, the rest is forgotten.
--
-- KEYS  1 head  2 manifests  3 pieces  4 journal
-- ARGV  1 space  2 term  3 position, 4 name, 5 time of the entry it is as of  6 manifest
--       7 what names of pieces become keys with  8 how many pieces  9 and on: their names
-- Gives {0}; and where nothing was changed: {1} no head  {2, space} another space  {3, head} the head is lower
--       {4, name} another entry stands there  {5, first} it is no longer kept
--       {6, term} a later term was minted  {8, name} a piece is missing

local call = redis.call
local head = call('HMGET', KEYS[1], 'space', 'term', 'position', 'at', 'name', 'first')
if head[1] ~= ARGV[1] then
    if head[1] then
        return {2, head[1]}
    end
    return {1}
end
if tonumber(ARGV[2]) < tonumber(head[2]) then
    return {6, tonumber(head[2])}
end
local position = tonumber(ARGV[3])
if position > tonumber(head[3]) then
    return {3, tonumber(head[3])}
end
-- A leader that followed another history must not have everybody begin with it.
local found, at = head[5], head[4]
if ARGV[3] ~= head[3] then
    local id = function(n) return string.format('%.0f-0', n) end
    local range = call('XRANGE', KEYS[4], id(position), id(position + 1))
    if not range[2] then
        return {5, tonumber(head[6])}
    end
    found = string.sub(range[2][2][1], 14, 37)
    at = string.format('%.0f', struct.unpack('<i8', range[1][2][1], 2))
end
if position > 0 and (found ~= ARGV[4] or at ~= ARGV[5]) then
    return {4, found}
end
local names = {}
for n = 9, 8 + ARGV[8] do
    if call('EXISTS', ARGV[7] .. ARGV[n]) == 0 then
        return {8, ARGV[n]}
    end
    names[#names + 1] = ARGV[n]
end

-- Newest first; the one that is installed stands in the place of one at the same position.
local stored = call('HMGET', KEYS[2],
    'position', 'bytes', 'pieces', 'before_position', 'before_bytes', 'before_pieces')
local all = {{ARGV[3], ARGV[6], table.concat(names, ' ')}}
for n = 1, 4, 3 do
    if stored[n] and stored[n] ~= ARGV[3] then
        all[#all + 1] = {stored[n], stored[n + 1], stored[n + 2]}
    end
end
table.sort(all, function(one, other) return tonumber(one[1]) > tonumber(other[1]) end)

call('HSET', KEYS[2], 'position', all[1][1], 'bytes', all[1][2], 'pieces', all[1][3])
if all[2] then
    call('HSET', KEYS[2],
        'before_position', all[2][1], 'before_bytes', all[2][2], 'before_pieces', all[2][3])
end

-- What was named and is not any more may go some time from now; what is named now never does.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
now = string.format('%.0f', math.max(now, tonumber(head[4])))
local kept = {}
for n = 1, math.min(#all, 2) do
    for name in string.gmatch(all[n][3], '%x+') do
        kept[name] = true
    end
end
for _, pieces in ipairs({stored[3] or '', stored[6] or '', table.concat(names, ' ')}) do
    for name in string.gmatch(pieces, '%x+') do
        call('ZADD', KEYS[3], kept[name] and '+inf' or now, name)
    end
end
return {0}
