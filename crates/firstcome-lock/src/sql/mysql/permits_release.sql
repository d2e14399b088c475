-- Gives back a permit. Those that ran out are dropped. The holders are written last: what is before reads them.
UPDATE firstcome_permits SET
    request = {request},
    ends_at = COALESCE((
        SELECT MAX(h.until) FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
        WHERE h.owner <> {owner} AND h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
    ), CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)),
    holders = COALESCE((
        SELECT JSON_ARRAYAGG(JSON_OBJECT('owner', h.owner, 'until', h.until, 'alone', h.alone, 'fence', h.fence))
        FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
        WHERE h.owner <> {owner} AND h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
    ), '[]')
WHERE name = {name} AND request <> {request} AND EXISTS (
    SELECT 1 FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
    WHERE h.owner = {owner} AND h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
);
