-- Lists the locks that are held.
--
-- ?1 the name to begin after  ?2 how many at most
SELECT l.name, l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, c.now
FROM (SELECT CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) AS now) AS c
JOIN firstcome_locks AS l ON l.holds > 0 AND l.expires_at > c.now AND l.name > ?1
ORDER BY l.name LIMIT ?2
