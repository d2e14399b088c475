-- Renews a permit for its owner; run once for each, all of them in one transaction.
--
-- ?1 name  ?2 owner  ?3 lease (µs)
UPDATE firstcome_permits AS p SET
    holders = (
        SELECT json_group_array(json(CASE WHEN h.value ->> 'owner' = ?2
            THEN json_set(h.value, '$.until', CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) + ?3) ELSE h.value END))
        FROM json_each(p.holders) AS h WHERE h.value ->> 'until' > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
    ),
    ends_at = max(p.ends_at, CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) + ?3)
WHERE p.name = ?1 AND EXISTS (
    SELECT 1 FROM json_each(p.holders) AS h
    WHERE h.value ->> 'owner' = ?2 AND h.value ->> 'until' > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
)
