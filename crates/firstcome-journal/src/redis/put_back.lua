-- Puts entries back whole after the entry that is the last one, all of them or none.
--
-- KEYS  1 journal  2 head
-- ARGV  1 space  2 position of the last one  3 its name  4 name of the new last one
--       5 and on: for each entry its store part and its body
-- Gives {0}; and where nothing was stored: {1} no head  {2, space} another space
--       {7, head, name} the journal ends elsewhere

local call, format = redis.call, string.format
local head = call('HMGET', KEYS[2], 'space', 'position', 'name', 'epoch')
if head[1] ~= ARGV[1] then
    if head[1] then
        return {2, head[1]}
    end
    return {1}
end
if head[2] ~= ARGV[2] or head[3] ~= ARGV[3] then
    return {7, tonumber(head[2]), head[3]}
end
local position, last = tonumber(head[2]), #ARGV - 1
for n = 5, last, 2 do
    position = position + 1
    call('XADD', KEYS[1], format('%.0f', position), ARGV[n], ARGV[n + 1])
    -- Each but the last is named by the one after it.
    local name = n == last and ARGV[4] or string.sub(ARGV[n + 2], 14, 37)
    call('HSET', KEYS[2], position % 32, name)
end
local _, at, epoch = struct.unpack('<Bi8I4', ARGV[last])
epoch = math.max(epoch, tonumber(head[4]))
call('HSET', KEYS[2], 'position', format('%.0f', position), 'name', ARGV[4],
    'at', format('%.0f', at), 'epoch', format('%.0f', epoch))
return {0}
