-- Lists the locks that are held.
SELECT l.name, l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, c.now
FROM (SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now) AS c
JOIN firstcome_locks AS l ON l.holds > 0 AND l.expires_at > c.now AND l.name > {after}
ORDER BY l.name LIMIT {count};
