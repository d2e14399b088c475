-- Gives what is out as it stands, or nothing but the time.
--
-- ?1 name  ?2 owner
SELECT max(h.value ->> 'fence') FILTER (WHERE h.value ->> 'owner' = ?2), count(h.value),
    coalesce(max(h.value ->> 'alone'), 0), min(h.value ->> 'until'), max(h.value ->> 'until'), max(p.request), max(c.now)
FROM (SELECT CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) AS now) AS c
LEFT JOIN firstcome_permits AS p ON p.name = ?1
LEFT JOIN json_each(p.holders) AS h ON h.value ->> 'until' > c.now
