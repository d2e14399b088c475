-- Mints the next term; the terms before it are refused from then on.
--
-- KEYS  1 head
-- ARGV  1 space
-- Gives {0, term}; {1} no head  {2, space} another space

local space = redis.call('HGET', KEYS[1], 'space')
if space ~= ARGV[1] then
    if space then
        return {2, space}
    end
    return {1}
end
-- A server without memory to spare lets a script write that began by removing something, and trimming needs a term.
redis.call('HDEL', KEYS[1], 'nothing')
return {0, redis.call('HINCRBY', KEYS[1], 'term', 1)}
