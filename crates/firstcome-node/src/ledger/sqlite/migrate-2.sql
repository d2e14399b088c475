ALTER TABLE meta ADD COLUMN id BLOB CHECK (length(id) = 16);
ALTER TABLE meta ADD COLUMN layout INTEGER;
UPDATE meta SET id = randomblob(16), layout = 2;
