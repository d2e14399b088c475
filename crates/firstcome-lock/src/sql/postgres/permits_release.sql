-- Gives back a permit, and tells those who wait, if there are any; word of them is turned around, so that it is said once.
--
-- $1 name  $2 owner  $3 this request
WITH step AS (
    UPDATE firstcome_permits AS p SET (holders, ends_at, waiting_until, request) = (
        SELECT coalesce(jsonb_agg(h) FILTER (WHERE h ->> 'owner' <> $2), '[]'),
            coalesce(max((h ->> 'until')::bigint) FILTER (WHERE h ->> 'owner' <> $2), max(c.now)),
            CASE WHEN p.waiting_until > max(c.now) THEN -p.waiting_until ELSE 0 END,
            $3
        FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
        CROSS JOIN jsonb_array_elements(p.holders) AS h
        WHERE (h ->> 'until')::bigint > c.now OR h ->> 'owner' = $2
    )
    WHERE p.name = $1 AND p.request <> $3 AND EXISTS (
        SELECT FROM jsonb_array_elements(p.holders) AS h
        WHERE h ->> 'owner' = $2
            AND (h ->> 'until')::bigint > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    )
    RETURNING *
)
SELECT l.mine, l.count, l.alone, l.first, l.last, r.request, r.now,
    CASE WHEN r.told THEN pg_notify('firstcome_locks', 'permits ' || $1)::text END
FROM (
    SELECT holders, request, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now, waiting_until < 0 AS told
    FROM step
    UNION ALL
    SELECT p.holders, p.request, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, false
    FROM (SELECT) AS one
    LEFT JOIN firstcome_permits AS p ON p.name = $1
    WHERE NOT EXISTS (SELECT FROM step)
    OFFSET 0
) AS r
CROSS JOIN LATERAL (
    SELECT max((h ->> 'fence')::bigint) FILTER (WHERE h ->> 'owner' = $2) AS mine, count(*) AS count,
        coalesce(bool_or((h -> 'alone')::boolean), false) AS alone,
        min((h ->> 'until')::bigint) AS first, max((h ->> 'until')::bigint) AS last
    FROM jsonb_array_elements(r.holders) AS h
    WHERE (h ->> 'until')::bigint > r.now
) AS l
