-- Passes a lock from its owner, who has it once, to the next one without it being free in between; nobody is told, and
-- word is left of those who still wait.
--
-- $1 name  $2 owner  $3 next owner  $4 lease (µs)  $5 this request  $6 whether more wait
WITH step AS (
    UPDATE firstcome_locks AS l SET (
        owner, fence, expires_at, acquired_at, waiting_until, request, metadata
    ) = (
        SELECT $3, greatest(l.fence + 1, c.now), c.now + $4, c.now,
            CASE WHEN $6 THEN greatest(l.waiting_until, c.now + $4 + 1000000) ELSE l.waiting_until END, $5, NULL
        FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
    )
    WHERE l.name = $1 AND l.owner = $2 AND l.holds = 1
        AND l.expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
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
