-- Takes several locks if all of them are free; each has its fence minted in the same step.
--
-- KEYS  lock and fence counter of each, in turn
-- ARGV  1 owner  2 lease (ms)  3 not after (µs of this server's clock)  4 life of the counters (ms)
-- Gives {1, now, fence, …} to the owner, {0, now, which one, remaining ms} if somebody has one, {-1, now} to a request that is
-- late.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
    -- Its sender has given up on it and has undone, or will undo, what it asked for.
    return {-1, now}
end

for i = 1, #KEYS, 2 do
    local left = call('PTTL', KEYS[i])
    if left ~= -2 then
        -- An error where it is no such lock.
        call('HEXISTS', KEYS[i], ARGV[1])
        return {0, now, (i - 1) / 2, left}
    end
end

-- All fences first: a counter that cannot be written must not leave a lock behind that nobody knows of.
local answer = {1, now}
for i = 2, #KEYS, 2 do
    local fence, last = now, call('SET', KEYS[i], now, 'GET', 'PX', ARGV[4])
    if last and tonumber(last) >= now then
        fence = tonumber(last) + 1
        call('SET', KEYS[i], fence, 'KEEPTTL')
    end
    answer[#answer + 1] = fence
end
for i = 1, #KEYS, 2 do
    local set = redis.pcall('HSET', KEYS[i], ARGV[1], '1')
    if type(set) ~= 'table' then
        set = redis.pcall('PEXPIRE', KEYS[i], ARGV[2])
    end
    if type(set) == 'table' then
        -- The user may have no right to write this one of the keys: none is kept.
        for j = 1, i, 2 do
            redis.pcall('DEL', KEYS[j])
        end
        return set
    end
end
return answer
