-- Gives back a fair lock, or leaves its line, and wakes who is next.
--
-- KEYS  1 lock  2 channel, without the owner  3 latch of this request  4 line  5 until when each is waited for
-- ARGV  1 owner  2 as in latch.lua  3 for how long it was waited for (ms)
-- Gives {1 where it was held, now}. The latch makes sending it again harmless.

local ms, wait = math.floor(now / 1000), tonumber(ARGV[3])
local held = call('HDEL', KEYS[1], ARGV[1]) == 1
local place = call('LPOS', KEYS[4], ARGV[1])
if place then
    for _, other in ipairs(call('LRANGE', KEYS[4], place + 1, -1)) do
        give_time_back(KEYS[5], other, wait, ms)
    end
    call('LREM', KEYS[4], 1, ARGV[1])
end
call('ZREM', KEYS[5], ARGV[1])
local head = next_in_line(KEYS[4], KEYS[5], ms)
if head and call('EXISTS', KEYS[1]) == 0 then
    publish(KEYS[2] .. ':' .. head, '0')
end
return answer(held)
