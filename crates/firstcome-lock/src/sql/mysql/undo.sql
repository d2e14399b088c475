-- Takes back a hold whose acquire got no answer, down to the holds its owner knows of.
UPDATE firstcome_locks SET
    request = {request},
    expires_at = IF({keep} > 0, expires_at, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)),
    holds = {keep}
WHERE name = {name} AND owner = {owner} AND holds > {keep}
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
