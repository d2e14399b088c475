-- Gives a permit where there is one left, and mints a fence for it; those that ran out are dropped in the same step.
--
-- The assignments are made in this order, and each sees those before it. The first one decides, by the clock after the row
-- was had, and leaves the request's number where a permit is given. {most} is how many there are, 0 for one who wants to
-- be alone.
INSERT INTO firstcome_permits (name, fence, holders, ends_at, request)
SELECT {name}, c.now,
    JSON_ARRAY(JSON_OBJECT('owner', {owner}, 'until', c.now + {lease}, 'alone', {alone}, 'fence', c.now)),
    c.now + {lease}, {request}
FROM (SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now) AS c
WHERE c.now <= {not_after}
ON DUPLICATE KEY UPDATE
    firstcome_permits.request = IF(CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) <= {not_after} AND (
        SELECT IF({alone}, COUNT(*) = 0, COUNT(*) < {most} AND COALESCE(MAX(h.alone), 0) = 0)
        FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
        WHERE h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
    ), {request}, firstcome_permits.request),
    firstcome_permits.fence = IF(firstcome_permits.request = {request},
        GREATEST(firstcome_permits.fence + 1, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)),
        firstcome_permits.fence),
    firstcome_permits.ends_at = IF(firstcome_permits.request = {request},
        GREATEST(firstcome_permits.ends_at, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease}),
        firstcome_permits.ends_at),
    firstcome_permits.holders = IF(firstcome_permits.request = {request}, JSON_ARRAY_APPEND(COALESCE((
        SELECT JSON_ARRAYAGG(JSON_OBJECT('owner', h.owner, 'until', h.until, 'alone', h.alone, 'fence', h.fence))
        FROM JSON_TABLE(firstcome_permits.holders, {columns}) AS h
        WHERE h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)
    ), '[]'), '$', JSON_OBJECT('owner', {owner},
        'until', CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + {lease},
        'alone', {alone}, 'fence', firstcome_permits.fence)), firstcome_permits.holders);
