-- Tells who has each of many locks: with 2 where it lasts for a lease from when the statement before began, else with 1.
SELECT name, owner, IF(expires_at >= @begun + {lease}, 2, 1) FROM firstcome_locks
WHERE name IN ({names}) AND holds > 0
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
