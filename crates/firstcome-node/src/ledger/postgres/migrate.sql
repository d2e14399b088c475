ALTER TABLE meta ADD COLUMN IF NOT EXISTS id bytea CHECK (octet_length(id) = 16);
ALTER TABLE meta ADD COLUMN IF NOT EXISTS layout bigint;
UPDATE meta SET id = coalesce(id, decode(md5(random()::text || clock_timestamp()::text || pg_backend_pid()::text), 'hex')), layout = 3
WHERE id IS NULL OR layout IS NULL OR layout < 3;
ALTER TABLE results
    ADD COLUMN IF NOT EXISTS reference text COLLATE "C",
    ADD COLUMN IF NOT EXISTS used_by text COLLATE "C",
    ADD COLUMN IF NOT EXISTS verdict text COLLATE "C",
    ADD COLUMN IF NOT EXISTS issue bigint,
    ADD COLUMN IF NOT EXISTS import text COLLATE "C",
    ADD COLUMN IF NOT EXISTS quantity bigint;
-- What is new stands last: so views of somebody else on this one stay.
CREATE OR REPLACE VIEW results_utc AS
SELECT shard, number, rank, at, settled_at, kind, campaign, pool, subject, cancelled_by, reason, who, unit, hold, moved_from,
    to_char(to_timestamp(at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '.' || lpad((at % 1000000)::text, 6, '0') || 'Z' AS at_utc,
    reference, used_by, verdict, issue, import, quantity
FROM results;
