-- Passes a lock from its owner, who has it once, to the next one without it being free in between.
--
-- ?1 name  ?2 owner  ?3 next owner  ?4 lease (µs)  ?5 this request
UPDATE firstcome_locks SET
    owner = ?3,
    fence = max(fence + 1, CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)),
    expires_at = CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) + ?4,
    acquired_at = CAST(round(unixepoch('subsec') * 1000000) AS INTEGER),
    request = ?5,
    metadata = NULL
WHERE name = ?1 AND owner = ?2 AND holds = 1
    AND expires_at > CAST(round(unixepoch('subsec') * 1000000) AS INTEGER)
