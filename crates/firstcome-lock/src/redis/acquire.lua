-- Takes a lock if it is free, or once more for its owner; the fence is minted in the same step.
--
-- KEYS  1 lock  2 fence counter
-- ARGV  1 owner  2 lease (ms)  3 not after (µs of this server's clock)  4 life of the counter (ms, 0 for ever)
-- Gives {holds, fence, now} to the owner, {0, remaining ms, now} to others, {-1, 0, now} to a request that is late.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
    -- Its sender has given up on it and has undone, or will undo, what it asked for.
    return {-1, 0, now}
end

-- Gives the next fence.
local function mint()
    -- The clock is nearly always ahead of the last fence, so it is written at once and the last one looked at after.
    -- A number is written with all its digits.
    local fence, last = now, nil
    if ARGV[4] == '0' then
        last = call('SET', KEYS[2], now, 'GET')
    else
        last = call('SET', KEYS[2], now, 'GET', 'PX', ARGV[4])
    end
    if last and tonumber(last) >= now then
        fence = tonumber(last) + 1
        call('SET', KEYS[2], fence, 'KEEPTTL')
    end
    return fence
end

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
