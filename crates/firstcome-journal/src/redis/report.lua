-- Keeps a report on a fork; beyond so many, those of the oldest epochs go.
--
-- KEYS  1 forks
-- ARGV  1 epoch and node  2 report  3 how many are kept
-- Gives {0}

local call = redis.call
call('HSET', KEYS[1], ARGV[1], ARGV[2])
local over = call('HLEN', KEYS[1]) - ARGV[3]
if over > 0 then
    local all = call('HKEYS', KEYS[1])
    table.sort(all)
    for n = 1, over do
        call('HDEL', KEYS[1], all[n])
    end
end
return {0}
