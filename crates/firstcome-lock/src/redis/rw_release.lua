-- Gives back a hold of a read/write lock; the last one frees it and wakes those who wait.
--
-- KEYS  1 lock  2 channel  3 latch of this request  4 what the hold of a reader ends with
-- ARGV  1 field of the hold  2 as in latch.lua  3 'read' or 'write'  4 what the ends of all readers begin with
-- Gives {1 where it was given back, now}. The latch makes sending it again harmless.

local held = call('HDEL', KEYS[1], ARGV[1]) == 1
if ARGV[3] == 'read' then
    -- A reader holds it as long as this is there.
    held = call('DEL', KEYS[4]) == 1 and held
end
local mode = call('HGET', KEYS[1], 'mode')
if not mode then
    -- It is gone, or a lock of another kind has the name.
    return answer(held)
end
local fields, longest = call('HGETALL', KEYS[1]), 0
for i = 1, #fields, 2 do
    -- Nobody reads a thousand times at once; a number that somebody else wrote must not keep the server busy.
    for hold = 1, math.min(tonumber(fields[i + 1]) or 0, 1000) do
        longest = math.max(longest, call('PTTL', ARGV[4] .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold))
    end
end
if mode == 'read' and longest > 0 then
    local left = call('PTTL', KEYS[1])
    call('PEXPIRE', KEYS[1], longest)
    if longest + 1000 < left then
        -- Those who wait think that it lasts until then.
        publish(KEYS[2], '0')
    end
elseif mode == 'read' or #fields == 2 then
    -- Nobody is left, or only readers whose time is over.
    call('DEL', KEYS[1])
    publish(KEYS[2], ARGV[3] == 'write' and '1' or '0')
end
return answer(held)
