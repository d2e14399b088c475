-- Frees a lock whoever has it. The time is written last: the condition is checked before.
UPDATE firstcome_locks SET
    request = {request},
    holds = 0,
    expires_at = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
WHERE name = {name} AND holds > 0
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
