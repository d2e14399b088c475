-- Gives a permit where there is one left, and mints a fence for it; those that ran out are dropped in the same step.
--
-- SQLite reads the clock once for a statement, after it has the file for itself.
--
-- ?1 name  ?2 owner  ?3 lease (µs)  ?4 not after (µs)  ?5 this request  ?6 how many there are, 0 for one who wants to be alone
INSERT INTO firstcome_permits AS p (name, fence, holders, ends_at, request)
SELECT ?1, c.now, json_array(json_object('owner', ?2, 'until', c.now + ?3, 'alone', ?6 = 0, 'fence', c.now)), c.now + ?3, ?5
FROM (SELECT CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) AS now) AS c
WHERE c.now <= ?4
ON CONFLICT (name) DO UPDATE SET
    fence = max(p.fence + 1, excluded.fence),
    holders = json_insert((
        SELECT json_group_array(json(h.value)) FROM json_each(p.holders) AS h WHERE h.value ->> 'until' > excluded.fence
    ), '$[#]', json_object('owner', ?2, 'until', excluded.ends_at, 'alone', ?6 = 0, 'fence', max(p.fence + 1, excluded.fence))),
    ends_at = max(p.ends_at, excluded.ends_at),
    request = excluded.request
WHERE (
    SELECT CASE WHEN ?6 = 0 THEN count(*) = 0 ELSE count(*) < ?6 AND coalesce(max(h.value ->> 'alone'), 0) = 0 END
    FROM json_each(p.holders) AS h WHERE h.value ->> 'until' > excluded.fence
)
