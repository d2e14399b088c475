-- Gives a lock as it stands, or nothing but the time; and whether the statement before changed a row: somebody else may
-- have changed it since.
SELECT l.owner, l.holds, l.fence, l.expires_at, l.request, l.metadata, c.now, ROW_COUNT() > 0
FROM (SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now) AS c
LEFT JOIN firstcome_locks AS l ON l.name = {name};
