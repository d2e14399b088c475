-- Takes a lock if it is free, or once more for its owner; the fence is minted in the same step.
--
-- KEYS  1 lock  2 fence counter
-- ARGV  1 owner  2 lease (ms)  3 and 4 as in late.lua and mint.lua
-- Gives {holds, fence, now} to the owner, {0, remaining ms, now} to others, {-1, 0, now} to a request that is late.

local left = call('PTTL', KEYS[1])
if left == -2 then
    -- Minted first: a counter that cannot be written must not leave a lock behind that nobody knows of.
    local fence = mint()
    call('HSET', KEYS[1], ARGV[1], '1')
    call('PEXPIRE', KEYS[1], ARGV[2])
    return {1, fence, now}
end

if call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    local holds = call('HINCRBY', KEYS[1], ARGV[1], 1)
    call('PEXPIRE', KEYS[1], ARGV[2])
    -- The counter may have ended before a lock that is held for longer: a new fence is higher than the one before.
    return {holds, tonumber(call('GET', KEYS[2]) or mint()), now}
end
return {0, left, now}
