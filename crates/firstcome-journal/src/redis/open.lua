-- Looks at what is stored of a space, and makes its head if nothing is.
--
-- KEYS  1 journal  2 head
-- ARGV  1 space, 32 hexadecimal digits; empty to make nothing  2 level
-- Gives {0, 1 if the head was made now, then the head's space and level};
--       {1} where nothing is stored and nothing is to be made;
--       {9, key, what it is} where a key is something else's;
--       {10} where there are entries and no head;
--       {12, mark} where a mark stands in the place of the head.

local call = redis.call
local journal, head = call('TYPE', KEYS[1]).ok, call('TYPE', KEYS[2]).ok
if journal ~= 'none' and journal ~= 'stream' then
    return {9, KEYS[1], 'a ' .. journal}
end
if head ~= 'none' and head ~= 'hash' then
    return {9, KEYS[2], 'a ' .. head}
end
if head == 'none' then
    if journal ~= 'none' then
        return {10}
    end
    if ARGV[1] == '' then
        return {1}
    end
    -- What an append reads comes first: a small hash is searched from its beginning.
    call('HSET', KEYS[2], 'position', '0', 'name', string.rep('\0', 24), 'at', '0', 'epoch', '0',
        'space', ARGV[1], 'first', '1', 'level', ARGV[2], 'term', '0')
    return {0, 1, ARGV[1], ARGV[2]}
end
local found = call('HMGET', KEYS[2], 'space', 'level', 'mark')
if not found[1] and found[3] then
    return {12, found[3]}
end
if not (found[1] and found[2]) then
    return {9, KEYS[2], 'a hash without a space'}
end
return {0, 0, found[1], found[2]}
