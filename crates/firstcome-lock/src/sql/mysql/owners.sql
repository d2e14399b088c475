-- Tells who has each of many locks.
SELECT name, owner FROM firstcome_locks
WHERE name IN ({names}) AND holds > 0
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
