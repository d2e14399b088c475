-- Removes, of the next rows in the order of their names, those that nobody has used for a day. The clock keeps fences
-- growing after that.
--
-- $1 the name to begin after  $2 how many rows are looked at
-- Gives the last name looked at, or nothing after the end.
WITH bite AS (
    SELECT name FROM firstcome_permits WHERE name > $1 ORDER BY name LIMIT $2
), old AS (
    SELECT p.name FROM firstcome_permits AS p JOIN bite ON bite.name = p.name
    WHERE p.ends_at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 86400000000
    FOR UPDATE OF p SKIP LOCKED
), gone AS (
    DELETE FROM firstcome_permits AS p USING old WHERE p.name = old.name
)
SELECT max(name) FROM bite
