-- Records which node leads, for as long as its term lasts.
--
-- ?1 name  ?2 owner  ?3 term  ?4 node
UPDATE firstcome_locks SET metadata = ?4
WHERE name = ?1 AND owner = ?2 AND fence = ?3 AND holds > 0
