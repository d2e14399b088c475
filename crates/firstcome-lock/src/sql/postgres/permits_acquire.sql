-- Gives a permit where there is one left, and mints a fence for it; those that ran out are dropped in the same step. One
-- who waits leaves word until the last of those that are out has run out.
--
-- The clock is read after the row was had, even if somebody was in the way for a while, and once for everything.
--
-- $1 name  $2 owner  $3 lease (µs)  $4 not after (µs)  $5 this request  $6 how many there are, 0 for one who wants to be
-- alone  $7 whether it waits
WITH step AS (
    INSERT INTO firstcome_permits AS p (name, fence, holders, ends_at, request)
    SELECT $1, c.now,
        jsonb_build_array(jsonb_build_object('owner', $2, 'until', c.now + $3, 'alone', $6 = 0, 'fence', c.now)),
        c.now + $3, $5
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
    WHERE c.now <= $4
    ON CONFLICT (name) DO UPDATE SET (fence, holders, ends_at, waiting_until, request) = (
        SELECT
            CASE WHEN s.granted THEN s.minted ELSE p.fence END,
            CASE WHEN s.granted THEN s.live || jsonb_build_object(
                'owner', $2, 'until', s.now + $3, 'alone', $6 = 0, 'fence', s.minted) ELSE s.live END,
            CASE WHEN s.granted THEN greatest(p.ends_at, s.now + $3) ELSE p.ends_at END,
            CASE WHEN $7 AND NOT s.granted THEN greatest(p.waiting_until, s.last + 1000000) ELSE p.waiting_until END,
            CASE WHEN s.granted THEN $5 ELSE p.request END
        FROM (
            SELECT c.now, greatest(p.fence + 1, c.now) AS minted, l.live, l.last,
                c.now <= $4 AND CASE WHEN $6 = 0 THEN l.count = 0 ELSE l.count < $6 AND NOT l.alone END AS granted
            FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
            CROSS JOIN LATERAL (
                SELECT count(*) AS count, coalesce(bool_or((h -> 'alone')::boolean), false) AS alone,
                    coalesce(jsonb_agg(h), '[]') AS live, max((h ->> 'until')::bigint) AS last
                FROM jsonb_array_elements(p.holders) AS h
                WHERE (h ->> 'until')::bigint > c.now
            ) AS l
            OFFSET 0
        ) AS s
    )
    RETURNING *
)
SELECT l.mine, l.count, l.alone, l.first, l.last, r.request, r.now, NULL::text
FROM (
    SELECT holders, request, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
    FROM step
    UNION ALL
    SELECT p.holders, p.request, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
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
