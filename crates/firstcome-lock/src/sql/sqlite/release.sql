-- Gives back one hold, or all; the last one frees the lock.
--
-- ?1 name  ?2 owner  ?3 this request  ?4 whether all are given back  ?5 lease (µs) for the holds that remain
UPDATE firstcome_locks SET
    holds = CASE WHEN ?4 THEN 0 ELSE holds - 1 END,
    expires_at = CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
        + CASE WHEN ?4 OR holds = 1 THEN 0 ELSE ?5 END,
    request = ?3
WHERE name = ?1 AND owner = ?2 AND holds > 0 AND request <> ?3
    AND expires_at > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
