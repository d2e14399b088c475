-- Renews a lock for its owner; run once for each, all of them in one transaction.
--
-- ?1 name  ?2 owner  ?3 lease (µs)
UPDATE firstcome_locks SET expires_at = CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) + ?3
WHERE name = ?1 AND owner = ?2 AND holds > 0
    AND expires_at > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
