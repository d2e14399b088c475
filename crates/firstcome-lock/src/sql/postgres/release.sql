-- Gives back one hold, or all; the last one frees the lock and tells those who wait, if there are any.
--
-- $1 name  $2 owner  $3 this request  $4 whether all are given back  $5 lease (µs) for the holds that remain
WITH step AS (
    UPDATE firstcome_locks AS l SET
        holds = CASE WHEN $4 THEN 0 ELSE l.holds - 1 END,
        expires_at = CASE WHEN $4 OR l.holds = 1 THEN 0 ELSE $5 END
            + (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
        request = $3
    WHERE l.name = $1 AND l.owner = $2 AND l.holds > 0 AND l.request <> $3
        AND l.expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    RETURNING *
)
SELECT owner, holds, fence, expires_at, request, metadata, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    CASE WHEN holds = 0 AND waiting_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
        THEN pg_notify('firstcome_locks', 'lock ' || name)::text END
FROM step
UNION ALL
SELECT l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL
FROM (SELECT) AS one
LEFT JOIN firstcome_locks AS l ON l.name = $1
WHERE NOT EXISTS (SELECT FROM step)
