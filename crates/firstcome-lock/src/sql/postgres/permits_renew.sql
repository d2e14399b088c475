-- Renews permits of one name, each only for its owner; those that ran out are dropped.
--
-- $1 name  $2 owners  $3 lease (µs), 0 to look without renewing
-- Gives the owners that have theirs.
WITH step AS (
    UPDATE firstcome_permits AS p SET (holders, ends_at) = (
        SELECT coalesce(jsonb_agg(CASE WHEN h ->> 'owner' = ANY ($2)
                THEN h || jsonb_build_object('until', c.now + $3) ELSE h END), '[]'),
            greatest(p.ends_at, max(c.now) + $3)
        FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now OFFSET 0) AS c
        CROSS JOIN jsonb_array_elements(p.holders) AS h
        WHERE (h ->> 'until')::bigint > c.now
    )
    WHERE p.name = $1 AND $3 > 0 AND EXISTS (
        SELECT FROM jsonb_array_elements(p.holders) AS h
        WHERE h ->> 'owner' = ANY ($2)
            AND (h ->> 'until')::bigint > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    )
    RETURNING *
)
SELECT h ->> 'owner'
FROM (
    SELECT holders FROM step
    UNION ALL
    SELECT holders FROM firstcome_permits WHERE name = $1 AND $3 = 0
) AS r
CROSS JOIN jsonb_array_elements(r.holders) AS h
WHERE h ->> 'owner' = ANY ($2)
    AND (h ->> 'until')::bigint > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
