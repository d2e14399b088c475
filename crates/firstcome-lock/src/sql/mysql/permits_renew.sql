-- Renews permits of one name, each only for its owner; those that ran out are dropped.
UPDATE firstcome_permits SET
    ends_at = GREATEST(ends_at, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease}),
    holders = COALESCE((
        SELECT JSON_ARRAYAGG(JSON_OBJECT('owner', h.owner,
            'until', IF(h.owner IN ({owners}), CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease}, h.until),
            'alone', h.alone, 'fence', h.fence))
        FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
        WHERE h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
    ), '[]')
WHERE name = {name} AND EXISTS (
    SELECT 1 FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
    WHERE h.owner IN ({owners}) AND h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
);
