-- Removes rows that nobody has used for a day. The clock keeps fences growing after that.
DELETE FROM firstcome_permits
WHERE name IN ({names}) AND ends_at < CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) - 86400000000;
