-- Takes back a hold whose acquire got no answer, down to the holds its owner knows of.
--
-- ?1 name  ?2 owner  ?3 holds to keep  ?4 this request
UPDATE firstcome_locks SET
    holds = ?3,
    expires_at = CASE WHEN ?3 > 0 THEN expires_at ELSE CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) END,
    request = ?4
WHERE name = ?1 AND owner = ?2 AND holds > ?3
    AND expires_at > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
