-- Stands before the scripts that give a lock to somebody: the time in µs, and how fences are minted.
--
-- KEYS  2 fence counter
-- ARGV  4 life of the counter (ms, 0 for ever)

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

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
