-- Tells who leads: the node on record, if the lock is still held by the owner on record.
--
-- KEYS  1 lock  2 record
-- Gives {node or '', term, remaining ms of whoever holds the lock (-2 nobody, -1 for ever)}.

local left = redis.call('PTTL', KEYS[1])
local record = redis.call('HMGET', KEYS[2], 'node', 'term', 'owner')
if record[3] and redis.call('HEXISTS', KEYS[1], record[3]) == 1 then
    return {record[1], record[2], left}
end
return {'', '0', left}
