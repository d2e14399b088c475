-- Frees a lock whoever has it.
--
-- ?1 name  ?2 this request
UPDATE firstcome_locks SET
    holds = 0,
    expires_at = CAST(round(unixepoch('subsec') * 1000000) AS INTEGER),
    request = ?2
WHERE name = ?1 AND holds > 0
    AND expires_at > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
