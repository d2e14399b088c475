-- Gives back one hold, or all; the last one frees the lock. The assignments are made in this order.
UPDATE firstcome_locks SET
    request = {request},
    expires_at = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + IF({all} OR holds = 1, 0, {lease}),
    holds = IF({all}, 0, holds - 1)
WHERE name = {name} AND owner = {owner} AND holds > 0 AND request <> {request}
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
