-- Renews many locks, each only for its owner.
UPDATE firstcome_locks SET expires_at = CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease}
WHERE name IN ({names}) AND (name, owner) IN ({pairs}) AND holds > 0
    AND expires_at > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
