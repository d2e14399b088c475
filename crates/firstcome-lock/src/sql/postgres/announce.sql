-- Records which node leads, for as long as its term lasts, and tells those who watch.
--
-- $1 name  $2 owner  $3 term  $4 node
WITH step AS (
    UPDATE firstcome_locks AS l SET metadata = $4
    WHERE l.name = $1 AND l.owner = $2 AND l.fence = $3 AND l.holds > 0
    RETURNING *
)
SELECT l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    pg_notify('firstcome_locks', 'leader ' || $1)::text
FROM (SELECT count(*) FROM step) AS one
LEFT JOIN firstcome_locks AS l ON l.name = $1
