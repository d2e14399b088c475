-- Frees a lock whoever has it.
--
-- $1 name  $2 this request
WITH step AS (
    UPDATE firstcome_locks AS l SET
        holds = 0,
        expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
        request = $2
    WHERE l.name = $1 AND l.holds > 0
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
