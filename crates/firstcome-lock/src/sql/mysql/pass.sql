-- Passes a lock from its owner, who has it once, to the next one without it being free in between.
UPDATE firstcome_locks SET
    request = {request},
    owner = {next},
    fence = GREATEST(fence + 1, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)),
    expires_at = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease},
    acquired_at = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED),
    metadata = NULL
WHERE name = {name} AND owner = {owner} AND holds = 1
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
