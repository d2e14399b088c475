-- Takes a lock that is free, or once more for its owner; the fence is minted in the same step.
--
-- SQLite reads the clock once for a statement, after it has the file for itself.
--
-- ?1 name  ?2 owner  ?3 lease (µs)  ?4 not after (µs)  ?5 this request
INSERT INTO firstcome_locks AS l (name, owner, holds, fence, expires_at, acquired_at, request)
SELECT ?1, ?2, 1, c.now, c.now + ?3, c.now, ?5
FROM (SELECT CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) AS now) AS c
WHERE c.now <= ?4
ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner,
    holds = CASE WHEN l.owner = ?2 AND l.holds > 0 AND l.expires_at > excluded.acquired_at
        THEN l.holds + 1 ELSE 1 END,
    fence = CASE WHEN l.owner = ?2 AND l.holds > 0 AND l.expires_at > excluded.acquired_at
        THEN l.fence ELSE max(l.fence + 1, excluded.fence) END,
    expires_at = excluded.expires_at,
    acquired_at = CASE WHEN l.owner = ?2 AND l.holds > 0 AND l.expires_at > excluded.acquired_at
        THEN l.acquired_at ELSE excluded.acquired_at END,
    request = excluded.request,
    metadata = CASE WHEN l.owner = ?2 AND l.holds > 0 AND l.expires_at > excluded.acquired_at
        THEN l.metadata END
WHERE l.holds = 0 OR l.expires_at <= excluded.acquired_at OR l.owner = ?2
