ALTER TABLE meta ADD COLUMN IF NOT EXISTS id bytea CHECK (octet_length(id) = 16);
ALTER TABLE meta ADD COLUMN IF NOT EXISTS layout bigint;
UPDATE meta SET id = coalesce(id, decode(md5(random()::text || clock_timestamp()::text || pg_backend_pid()::text), 'hex')), layout = 2
WHERE id IS NULL OR layout IS NULL OR layout < 2;
