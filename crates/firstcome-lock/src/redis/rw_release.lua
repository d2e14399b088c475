-- Gives back a hold of a read/write lock; the last one frees it and wakes those who wait.
--
-- KEYS  1 lock  2 channel  3 latch of this request  4 what the hold of a reader ends with
-- ARGV  1 field of the hold  2 'read' or 'write'  3 life of the latch (ms), 0 for none  4 what the ends of all readers begin with
-- Gives {1 where it was given back, now}. The latch makes sending it again harmless.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[3] ~= '0' and call('GET', KEYS[3]) then
    return {1, now}
end
local held = call('HDEL', KEYS[1], ARGV[1]) == 1
if ARGV[2] == 'read' then
    -- A reader holds it as long as this is there.
    held = call('DEL', KEYS[4]) == 1 and held
end
local fields, longest = call('HGETALL', KEYS[1]), 0
if #fields == 0 then
    return {held and 1 or 0, now}
end
for i = 1, #fields, 2 do
    for hold = 1, tonumber(fields[i + 1]) or 0 do
        longest = math.max(longest, call('PTTL', ARGV[4] .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold))
    end
end
local is_read = call('HGET', KEYS[1], 'mode') == 'read'
if longest > 0 and is_read then
    local left = call('PTTL', KEYS[1])
    call('PEXPIRE', KEYS[1], longest)
    if longest + 1000 < left then
        -- Those who wait think that it lasts until then.
        call('PUBLISH', KEYS[2], '0')
    end
elseif is_read or #fields == 2 and fields[1] == 'mode' then
    -- Nobody is left, or only readers whose time is over. A lock of another kind has no mode.
    call('DEL', KEYS[1])
    call('PUBLISH', KEYS[2], ARGV[2] == 'write' and '1' or '0')
end
if held and ARGV[3] ~= '0' then
    -- A server without room does not take it; then only a request that is sent again is not recognised.
    redis.pcall('SET', KEYS[3], '1', 'PX', ARGV[3])
end
return {held and 1 or 0, now}
