-- Takes a lock that is free, or once more for its owner; the fence is minted in the same step. One who waits leaves word
-- until the lease of whoever has it ends.
--
-- The clock is read after the row was had, even if somebody was in the way for a while, and once for everything.
--
-- $1 name  $2 owner  $3 lease (µs)  $4 not after (µs)  $5 this request  $6 whether it waits
WITH step AS (
    INSERT INTO firstcome_locks AS l (name, owner, holds, fence, expires_at, acquired_at, request)
    SELECT $1, $2, 1, c.now, c.now + $3, c.now, $5
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
    WHERE c.now <= $4
    ON CONFLICT (name) DO UPDATE SET (
        owner, holds, fence, expires_at, acquired_at, waiting_until, request, metadata
    ) = (
        SELECT
            CASE WHEN s.anew THEN $2 ELSE l.owner END,
            CASE WHEN s.anew THEN 1 WHEN s.again THEN l.holds + 1 ELSE l.holds END,
            CASE WHEN s.anew THEN greatest(l.fence + 1, s.now) ELSE l.fence END,
            CASE WHEN s.anew OR s.again THEN s.now + $3 ELSE l.expires_at END,
            CASE WHEN s.anew THEN s.now ELSE l.acquired_at END,
            CASE WHEN s.anew THEN 0 WHEN $6 AND NOT s.again THEN greatest(l.waiting_until, l.expires_at + 1000000)
                ELSE l.waiting_until END,
            CASE WHEN s.anew OR s.again THEN $5 ELSE l.request END,
            CASE WHEN s.anew THEN NULL ELSE l.metadata END
        FROM (
            SELECT c.now,
                c.now <= $4 AND (l.holds = 0 OR l.expires_at <= c.now) AS anew,
                c.now <= $4 AND l.holds > 0 AND l.expires_at > c.now AND l.owner = $2 AS again
            FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
            OFFSET 0
        ) AS s
    )
    WHERE $6 OR l.holds = 0 OR l.owner = $2
        OR l.expires_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    RETURNING *
)
SELECT owner, holds, fence, expires_at, request, metadata, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    NULL::text
FROM step
UNION ALL
SELECT l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL
FROM (SELECT) AS one
LEFT JOIN firstcome_locks AS l ON l.name = $1
WHERE NOT EXISTS (SELECT FROM step)
