-- Removes, of the next rows in the order of their names, those that nobody has used for a day. The clock keeps fences
-- growing after that.
--
-- ?1 the name to begin after  ?2 the last name looked at
DELETE FROM firstcome_permits
WHERE name > ?1 AND name <= ?2
    AND ends_at < CAST(round(unixepoch('subsec') * 1000000) AS INTEGER) - 86400000000
