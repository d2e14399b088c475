-- Looks, of the next rows in the order of their names, for those that nobody has used for a day.
SELECT name, ends_at < CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) - 86400000000
FROM firstcome_permits WHERE name > {after} ORDER BY name LIMIT {count};
