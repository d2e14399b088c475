-- Gives a lock as it stands, or nothing but the time.
--
-- ?1 name
SELECT l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, c.now
FROM (SELECT CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) AS now) AS c
LEFT JOIN firstcome_locks AS l ON l.name = ?1
