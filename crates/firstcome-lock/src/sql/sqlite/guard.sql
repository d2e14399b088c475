-- Writes a value if the fence is not lower than any seen before, nor the same from somebody else.
--
-- ?1 name  ?2 fence  ?3 owner  ?4 new value
INSERT INTO firstcome_guards AS g (name, fence, owner, value) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name) DO UPDATE SET fence = excluded.fence, owner = excluded.owner, value = excluded.value
WHERE g.fence < excluded.fence OR (g.fence = excluded.fence AND g.owner = excluded.owner)
