-- Raises the epoch by one, if the journal stands where the caller saw it.
--
-- KEYS  1 head
-- ARGV  1 space  2 position  3 name  4 epoch, as seen
-- Gives {0, epoch}; and where nothing was changed: {1} no head  {2, space} another space
--       {7, head, name} it moved

local call = redis.call
local head = call('HMGET', KEYS[1], 'space', 'position', 'name', 'epoch')
if head[1] ~= ARGV[1] then
    if head[1] then
        return {2, head[1]}
    end
    return {1}
end
if head[2] ~= ARGV[2] or head[3] ~= ARGV[3] or head[4] ~= ARGV[4] then
    return {7, tonumber(head[2]), head[3]}
end
return {0, call('HINCRBY', KEYS[1], 'epoch', 1)}
