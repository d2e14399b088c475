-- Gives what is out as it stands, or nothing but the time.
--
-- $1 name  $2 owner
SELECT l.mine, l.count, l.alone, l.first, l.last, r.request, r.now, NULL::text
FROM (
    SELECT p.holders, p.request, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
    FROM (SELECT) AS one
    LEFT JOIN firstcome_permits AS p ON p.name = $1
    OFFSET 0
) AS r
CROSS JOIN LATERAL (
    SELECT max((h ->> 'fence')::bigint) FILTER (WHERE h ->> 'owner' = $2) AS mine, count(*) AS count,
        coalesce(bool_or((h -> 'alone')::boolean), false) AS alone,
        min((h ->> 'until')::bigint) AS first, max((h ->> 'until')::bigint) AS last
    FROM jsonb_array_elements(r.holders) AS h
    WHERE (h ->> 'until')::bigint > r.now
) AS l
