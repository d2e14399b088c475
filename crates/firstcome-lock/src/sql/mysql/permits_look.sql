-- Gives what is out as it stands, or nothing but the time; and whether the statement before changed a row: somebody else
-- may have changed it since.
SELECT MAX(IF(h.owner = {owner}, h.fence, NULL)), COUNT(h.owner), COALESCE(MAX(h.alone), 0), MIN(h.until), MAX(h.until),
    MAX(r.request), MAX(r.now), ROW_COUNT() > 0
FROM (
    SELECT p.holders, p.request, c.now
    FROM (SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now) AS c
    LEFT JOIN firstcome_permits AS p ON p.name = {name}
) AS r
LEFT JOIN JSON_TABLE(r.holders, {columns}) AS h ON h.until > r.now;
