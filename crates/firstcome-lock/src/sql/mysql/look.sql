-- Gives a lock as it stands, or nothing but the time.
SELECT l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, c.now
FROM (SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now) AS c
LEFT JOIN firstcome_locks AS l ON l.name = {name};
