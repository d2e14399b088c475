-- One atomic step: words that each do one thing, conditions first, then changes, then what is read.
--
-- KEYS  1 head  2 journal  3 manifests  4 pieces  5 nodes  6 forks  7 skips
-- ARGV  1 space  2 what names of pieces become keys with  3 and on: words, each with its arguments; the last is `end`
-- Gives {0, now, {the head's fields, term, mark}, how many entries are skipped, what the words read, in order …};
--       and where nothing was changed: {1} no head  {2, space} another space  {3, head} the head is lower
--       {4, name} another entry stands there  {5, first} it is no longer kept  {6, term} a later term was minted
--       {7, head, name} somebody changed it  {8, name} a piece is missing
--
-- A key is given by its number in KEYS, a list by its length and its members. Words take no answer back: a condition
-- that does not hold gives the reason, which ends the script. What an entry's field has is said by append.lua.

local call, format, sub = redis.call, string.format, string.sub
local fields = {'space', 'level', 'position', 'name', 'at', 'epoch', 'first', 'term', 'mark'}
local head = call('HMGET', KEYS[1], unpack(fields))
if head[1] and head[1] ~= ARGV[1] then
    return {2, head[1]}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local at = 2
local function arg()
    at = at + 1
    return ARGV[at]
end
local function key() return KEYS[tonumber(arg())] end
local function list()
    local members = {}
    for n = 1, tonumber(arg()) do
        members[n] = arg()
    end
    return members
end
local function number(n) return format('%.0f', n) end
local function moved() return {7, tonumber(head[3] or 0), head[4] or string.rep('\0', 24)} end

local words, seen = {}, {}

-- Conditions.

function words.there() if not head[1] then return {1} end end
function words.nothing() if head[1] then return moved() end end
function words.term() if tonumber(arg()) < tonumber(head[8]) then return {6, tonumber(head[8])} end end

-- Position and name.
function words.entry()
    local wanted, name = arg(), arg()
    local position, found = tonumber(wanted), head[4]
    if position > tonumber(head[3]) then
        return {3, tonumber(head[3])}
    end
    if wanted ~= head[3] then
        -- The entry after it says who stands there: bytes 14 to 37 of its field are the name of the one before.
        local range = call('XRANGE', KEYS[2], number(position) .. '-0', number(position + 1) .. '-0')
        if not range[2] then
            return {5, tonumber(head[7])}
        end
        found = sub(range[2][2][1], 14, 37)
    end
    if found ~= name then
        return {4, found}
    end
end

-- Position, name, and the epoch or nothing.
words['end of journal'] = function()
    local position, name, epoch = arg(), arg(), arg()
    if head[3] ~= position or head[4] ~= name or (epoch ~= '' and head[6] ~= epoch) then
        return moved()
    end
end

-- Of a hash: a field and what it has; nothing, if it is not there.
function words.same()
    if (call('HGET', key(), arg()) or '') ~= arg() then
        return moved()
    end
end

function words.stored()
    for _, name in ipairs(list()) do
        if call('EXISTS', ARGV[2] .. name) == 0 then
            return {8, name}
        end
    end
end

-- Position, and for how long a heartbeat counts: it begins with its time and the position its node applied.
words['not applied'] = function()
    local position, counts = tonumber(arg()), tonumber(arg())
    local all = call('HGETALL', KEYS[5])
    for n = 2, #all, 2 do
        local said, applied = struct.unpack('<i8i8', all[n])
        if now - said < counts and applied >= position then
            return moved()
        end
    end
end

-- Changes.

-- A server without memory to spare lets a script write that began by removing something.
function words.frees() call('HDEL', KEYS[1], 'nothing') end
function words.mint() call('HINCRBY', KEYS[1], 'term', 1) end
function words.epoch() call('HINCRBY', KEYS[1], 'epoch', 1) end
function words.put() call('HSET', key(), arg(), arg()) end
function words.stamp() call('HSET', key(), arg(), struct.pack('<i8', now) .. arg()) end
function words.delete() call('HDEL', key(), arg()) end

-- A mark, in the place of a head.
function words.mark() call('HSET', KEYS[1], 'mark', arg()) end
function words.unmark() call('HDEL', KEYS[1], 'mark') end

-- The same where a head stands, which goes with all entries.
function words.vacate()
    call('UNLINK', KEYS[1], KEYS[2])
    words.mark()
end

function words.level()
    local level = arg()
    if tonumber(level) > tonumber(head[2]) then
        call('HSET', KEYS[1], 'level', level)
    end
end

-- The name of the last entry, then of each its store part and its body.
function words.entries()
    local name, parts, position = arg(), list(), tonumber(head[3])
    for n = 1, #parts, 2 do
        position = position + 1
        call('XADD', KEYS[2], number(position), parts[n], parts[n + 1])
        -- Each but the last is named by the one after it.
        call('HSET', KEYS[1], position % 32, parts[n + 2] and sub(parts[n + 2], 14, 37) or name)
    end
    local _, stamp, epoch = struct.unpack('<Bi8I4', parts[#parts - 1])
    call('HSET', KEYS[1], 'position', number(position), 'name', name, 'at', number(stamp),
        'epoch', number(math.max(epoch, tonumber(head[6]))))
end

-- Level, and of the last entry of the state: position, name, time and epoch.
function words.restart()
    local level, position, name, stamp, epoch = arg(), arg(), arg(), arg(), arg()
    -- Terms go on from before. Where they were lost, they go on from the clock: nobody's was ever that high.
    local term = head[8] or number(math.floor(now / 1000000))
    call('HSET', KEYS[1], 'position', position, 'name', name, 'at', stamp, 'epoch', epoch, 'space', ARGV[1],
        'first', number(position + 1), 'level', level, 'term', term)
    call('UNLINK', KEYS[2])
    call('HDEL', KEYS[1], 'mark')
    -- The names of the last entries, which are no longer there.
    for slot = 0, 31 do
        call('HDEL', KEYS[1], slot)
    end
end

-- The last position that goes.
function words.trim()
    local last = tonumber(arg())
    -- In this order: what frees memory comes first.
    call('XTRIM', KEYS[2], 'MINID', number(last + 1) .. '-0')
    call('HSET', KEYS[1], 'first', number(math.max(last + 1, tonumber(head[7]))))
end

-- Name and bytes.
function words.piece()
    local name = arg()
    call('SET', ARGV[2] .. name, arg())
    -- Greater only: a piece that a manifest names stands at infinity.
    call('ZADD', KEYS[4], 'GT', number(now), name)
end

function words.named()
    for _, name in ipairs(list()) do
        call('ZADD', KEYS[4], '+inf', name)
    end
end

function words.unnamed()
    for _, name in ipairs(list()) do
        call('ZADD', KEYS[4], number(now), name)
    end
end

-- Since when, and how many at most.
words['drop idle'] = function()
    local names = call('ZRANGEBYSCORE', KEYS[4], '-inf', arg(), 'LIMIT', 0, arg())
    for _, name in ipairs(names) do
        call('UNLINK', ARGV[2] .. name)
        call('ZREM', KEYS[4], name)
    end
    seen[#seen + 1] = #names
end

-- What is read.

function words.all() seen[#seen + 1] = call('HGETALL', key()) end
function words.keys() seen[#seen + 1] = call('HKEYS', key()) end
function words.get() seen[#seen + 1] = call('GET', ARGV[2] .. arg()) end

-- The last position that may go, a time that it is no younger than, and how many at most; gives the last one, or 0.
function words.old()
    local through, cutoff, most = tonumber(arg()), tonumber(arg()), tonumber(arg())
    local first = tonumber(call('HGET', KEYS[1], 'first') or 1)
    -- The last entry says by its time whether all of them are old enough.
    local last = math.min(through, first + most - 1, tonumber(head[3]))
    while last >= first do
        local id = number(last) .. '-0'
        local range = call('XRANGE', KEYS[2], id, id)
        if not range[1] or struct.unpack('<i8', range[1][2][1], 2) <= cutoff then
            break
        end
        last = first - 1 + math.floor((last - first) / 2)
    end
    seen[#seen + 1] = last >= first and last or 0
end

while true do
    local word = arg()
    if word == 'end' then
        break
    end
    local refused = words[word]()
    if refused then
        return refused
    end
end
return {0, now, call('HMGET', KEYS[1], unpack(fields)), call('HLEN', KEYS[7]), unpack(seen)}
