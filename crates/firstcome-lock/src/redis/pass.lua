-- Passes a lock from its owner to the next one without it being free in between; nobody else is woken.
--
-- KEYS  1 lock  2 fence counter of the next owner
-- ARGV  1 owner  2 next owner  3 lease (ms)  4 life of the counter (ms, 0 for ever)
-- Gives {1, fence}, or {0, 0} where the owner does not hold it exactly once.

local call = redis.call
if call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
    -- Sent again: it has been passed already, and nobody has minted since.
    return {1, tonumber(call('GET', KEYS[2]) or 0)}
end
if call('HGET', KEYS[1], ARGV[1]) ~= '1' then
    return {0, 0}
end

local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- Minted first: where the counter cannot be written, the owner keeps what it has.
-- The clock is nearly always ahead of the last fence, so it is written at once and the last one looked at after.
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
call('HDEL', KEYS[1], ARGV[1])
call('HSET', KEYS[1], ARGV[2], '1')
call('PEXPIRE', KEYS[1], ARGV[3])
return {1, fence}
