-- Takes a read/write lock, which is Redisson's: for one writer alone, or beside other readers.
--
-- KEYS  1 lock  2 fence counter  3 what the hold of a reader ends with
-- ARGV  1 field of the hold  2 lease (ms)  3 and 4 as in late.lua and mint.lua  5 'read' or 'write'  6 how many may read
-- Gives {1, fence, now} to the owner, {0, remaining ms, now} to others, {-1, 0, now} to a request that is late.

local left = call('PTTL', KEYS[1])
local reads = ARGV[5] == 'read' and call('HGET', KEYS[1], 'mode') == 'read'
-- A lock of another kind has no mode, and is held, too; Redisson would take it for free.
if left ~= -2 and not (reads and call('HLEN', KEYS[1]) <= tonumber(ARGV[6])) then
    return {0, left, now}
end
local fence = mint()
if ARGV[5] == 'read' then
    -- Before the lock: a user who has no right to this key leaves no lock behind.
    call('SET', KEYS[3], '1', 'PX', ARGV[2])
end
call('HSET', KEYS[1], 'mode', ARGV[5], ARGV[1], '1')
if left < tonumber(ARGV[2]) then
    call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, fence, now}
