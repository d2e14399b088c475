-- Passes a lock from its owner to the next one without it being free in between; nobody else is woken.
--
-- KEYS  1 lock  2 fence counter of the next owner
-- ARGV  1 owner  2 next owner  3 lease (ms)  4 as in mint.lua
-- Gives {1, fence}, or {0, 0} where the owner does not hold it exactly once.

if call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
    -- Sent again: it has been passed already, and nobody has minted since.
    return {1, tonumber(call('GET', KEYS[2]) or 0)}
end
if call('HGET', KEYS[1], ARGV[1]) ~= '1' then
    return {0, 0}
end

-- Minted first: where the counter cannot be written, the owner keeps what it has.
local fence = mint()
call('HDEL', KEYS[1], ARGV[1])
call('HSET', KEYS[1], ARGV[2], '1')
call('PEXPIRE', KEYS[1], ARGV[3])
return {1, fence}
