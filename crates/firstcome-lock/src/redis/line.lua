-- Stands before the scripts of fair locks: who is next in line.
--
-- The line is Redisson's: a list of owners, and beside it until when each of them is waited for, in ms. Redisson takes that from
-- the clocks of its clients, this library from the server's.

-- Takes back the time that somebody before it in line had been given, but leaves it as much as one who asks now has.
local function give_time_back(deadlines, owner, wait, ms)
    local deadline = tonumber(redis.call('ZSCORE', deadlines, owner))
    if deadline and deadline > ms + wait then
        redis.call('ZADD', deadlines, math.max(deadline - wait, ms + wait), owner)
    end
end

local function next_in_line(line, deadlines, ms)
    while true do
        local head = redis.call('LINDEX', line, 0)
        local deadline = head and redis.call('ZSCORE', deadlines, head)
        if not deadline or tonumber(deadline) > ms then
            return head, deadline
        end
        redis.call('ZREM', deadlines, head)
        redis.call('LPOP', line)
    end
end
