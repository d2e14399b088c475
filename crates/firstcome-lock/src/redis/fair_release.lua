-- Gives back a fair lock, or leaves its line, and wakes who is next.
--
-- KEYS  1 lock  2 channel, without the owner  3 latch of this request  4 line  5 until when each is waited for
-- ARGV  1 owner  2 life of the latch (ms), 0 for none  3 for how long it was waited for (ms)
-- Gives {1 where it was held, now}. The latch makes sending it again harmless.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[2] ~= '0' and call('GET', KEYS[3]) then
    return {1, now}
end
local held = call('HDEL', KEYS[1], ARGV[1]) == 1
local place = call('LPOS', KEYS[4], ARGV[1])
if place then
    for _, other in ipairs(call('LRANGE', KEYS[4], place + 1, -1)) do
        give_time_back(KEYS[5], other, tonumber(ARGV[3]), math.floor(now / 1000))
    end
    call('LREM', KEYS[4], 1, ARGV[1])
end
call('ZREM', KEYS[5], ARGV[1])
local head = next_in_line(KEYS[4], KEYS[5], math.floor(now / 1000))
if head and call('EXISTS', KEYS[1]) == 0 then
    call('PUBLISH', KEYS[2] .. ':' .. head, '0')
end
if held and ARGV[2] ~= '0' then
    -- A server without room does not take it; then only a request that is sent again is not recognised.
    redis.pcall('SET', KEYS[3], '1', 'PX', ARGV[2])
end
return {held and 1 or 0, now}
