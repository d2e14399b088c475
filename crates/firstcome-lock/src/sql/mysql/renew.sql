-- Renews many locks, each only for its owner. A row that somebody else's transaction keeps is passed over, so that it does
-- not hold up the others. The index is named, and the order of the join: by another way every row would be waited for.
SET @begun = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
UPDATE (
    SELECT f.name FROM firstcome_locks AS f FORCE INDEX (PRIMARY)
    WHERE f.name IN ({names}) LIMIT 1000000 FOR UPDATE SKIP LOCKED
) AS free
STRAIGHT_JOIN firstcome_locks AS l FORCE INDEX (PRIMARY) ON l.name = free.name
SET l.expires_at = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease}
WHERE (l.name, l.owner) IN ({pairs}) AND l.holds > 0
    AND l.expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
