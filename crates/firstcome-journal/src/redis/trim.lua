-- Drops the oldest entries, or says which it would drop, and then pieces that nobody has named for long enough.
--
-- KEYS  1 journal  2 head  3 manifests  4 pieces
-- ARGV  1 space  2 term  3 how long to keep, µs  4 how many entries at most  5 how many pieces at most
--       6 the last entry that may go: a position, 0 for any, -1 to only say which  7 what names of pieces become keys with
-- Gives {0, first position kept, last position that may go or 0, 1 if there may be more};
--       {1} no head  {2, space} another space  {6, term} a later term was minted

local call, format = redis.call, string.format
local head = call('HMGET', KEYS[2], 'space', 'term', 'first', 'at')
if head[1] ~= ARGV[1] then
    if head[1] then
        return {2, head[1]}
    end
    return {1}
end
if tonumber(ARGV[2]) < tonumber(head[2]) then
    return {6, tonumber(head[2])}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local cutoff = math.max(now, tonumber(head[4])) - ARGV[3]

-- The last entry of a bite says by its time whether all of them are old enough.
local first, wanted = tonumber(head[3]), tonumber(ARGV[6])
local covered = tonumber(call('HGET', KEYS[3], 'before_position') or 0)
local last = math.min(covered, first + ARGV[4] - 1)
if wanted > 0 then
    last = math.min(last, wanted)
end
while last >= first do
    local id = format('%.0f-0', last)
    local range = call('XRANGE', KEYS[1], id, id)
    if not range[1] or struct.unpack('<i8', range[1][2][1], 2) <= cutoff then
        break
    end
    last = first - 1 + math.floor((last - first) / 2)
end
if last >= first then
    if wanted >= 0 then
        -- In this order: a server without memory to spare lets a script that began by giving some back write, too.
        call('XTRIM', KEYS[1], 'MINID', format('%.0f-0', last + 1))
        call('HSET', KEYS[2], 'first', format('%.0f', last + 1))
        first = last + 1
    end
    return {0, first, last, 1}
end

local names = call('ZRANGEBYSCORE', KEYS[4], '-inf', format('%.0f', cutoff), 'LIMIT', 0, ARGV[5])
for _, name in ipairs(names) do
    call('UNLINK', ARGV[7] .. name)
    call('ZREM', KEYS[4], name)
end
return {0, first, 0, names[1] and 1 or 0}
