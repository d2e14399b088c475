-- Renews many locks, each only for its owner. A row that somebody else's transaction keeps is passed over, so that it
-- does not hold up the others.
--
-- $1 names  $2 an owner for each  $3 lease (µs), 0 to look without renewing
-- Gives for each 2 where it was renewed, 1 where its owner has it, 0 where it is the owner's no more.
WITH asked AS (
    SELECT * FROM unnest($1, $2) WITH ORDINALITY AS a (name, owner, place)
), mine AS (
    SELECT l.name FROM firstcome_locks AS l JOIN asked AS a ON a.name = l.name
    WHERE $3 > 0 AND l.owner = a.owner AND l.holds > 0
        AND l.expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    FOR UPDATE OF l SKIP LOCKED
), renewed AS (
    UPDATE firstcome_locks AS l SET expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3
    FROM mine WHERE l.name = mine.name
    RETURNING l.name
)
SELECT CASE
    WHEN r.name IS NOT NULL THEN 2
    WHEN l.owner = a.owner AND l.holds > 0
        AND l.expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint THEN 1
    ELSE 0 END
FROM asked AS a
LEFT JOIN renewed AS r ON r.name = a.name
LEFT JOIN firstcome_locks AS l ON l.name = a.name
ORDER BY a.place
