-- Stands before the scripts that give something back in one piece: the time in µs, and a request that is sent again.
--
-- KEYS  3 latch of this request
-- ARGV  2 life of the latch (ms), 0 for none

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[2] ~= '0' and call('GET', KEYS[3]) then
    return {1, now}
end

-- Gives the answer, and has it recognised when it is asked for again.
local function answer(held)
    if held and ARGV[2] ~= '0' then
        -- A server without room does not take it; then only a request that is sent again is not recognised.
        redis.pcall('SET', KEYS[3], '1', 'PX', ARGV[2])
    end
    return {held and 1 or 0, now}
end
