-- Records which node leads, for as long as its term lasts.
UPDATE firstcome_locks SET metadata = {node}
WHERE name = {name} AND owner = {owner} AND fence = {term} AND holds > 0;
