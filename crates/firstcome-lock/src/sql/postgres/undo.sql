-- Takes back a hold whose acquire got no answer, down to the holds its owner knows of.
--
-- $1 name  $2 owner  $3 holds to keep  $4 this request
WITH step AS (
    UPDATE firstcome_locks AS l SET
        holds = $3,
        expires_at = CASE WHEN $3 > 0 THEN l.expires_at
            ELSE (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END,
        request = $4
    WHERE l.name = $1 AND l.owner = $2 AND l.holds > $3
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
