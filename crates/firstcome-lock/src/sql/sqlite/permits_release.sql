-- Gives back a permit; those that ran out are dropped.
--
-- ?1 name  ?2 owner  ?3 this request
UPDATE firstcome_permits AS p SET
    holders = (
        SELECT json_group_array(json(h.value)) FROM json_each(p.holders) AS h
        WHERE h.value ->> 'owner' <> ?2 AND h.value ->> 'until' > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
    ),
    ends_at = (
        SELECT coalesce(max(h.value ->> 'until'), CAST(round(unixepoch('subsec') * 1000000) AS INTEGER))
        FROM json_each(p.holders) AS h WHERE h.value ->> 'owner' <> ?2
    ),
    request = ?3
WHERE p.name = ?1 AND p.request <> ?3 AND EXISTS (
    SELECT 1 FROM json_each(p.holders) AS h
    WHERE h.value ->> 'owner' = ?2 AND h.value ->> 'until' > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
)
