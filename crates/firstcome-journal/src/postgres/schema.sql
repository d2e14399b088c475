-- The tables of one journal. Times are microseconds since 1970 in UTC, by this server's clock. Names of entries have 24
-- bytes: node, then number, little-endian.
CREATE TABLE IF NOT EXISTS head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    tables integer NOT NULL,        -- the version of these tables: 1
    space bytea,                    -- identity of the space, 16 bytes; nothing in an emptied store with a mark
    level bigint NOT NULL,
    epoch bigint NOT NULL,          -- of the next entry
    term bigint NOT NULL,           -- for snapshots and trimming
    base_position bigint NOT NULL,  -- of the entry before the first that is kept; 0 before the first of all
    base_name bytea NOT NULL,
    base_at bigint,
    mark bytea                      -- of an emptied store: see docs/reference/stores.md
);
-- One row for each batch. Only the last row says where the journal ends: a row that every batch changed would leave a
-- dead version behind each time.
CREATE TABLE IF NOT EXISTS entries (
    position bigint PRIMARY KEY,
    at bigint NOT NULL,
    epoch bigint NOT NULL,
    name bytea NOT NULL,
    before bytea NOT NULL,          -- name of the entry before
    body bytea NOT NULL
);
ALTER TABLE entries ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS manifests (
    position bigint PRIMARY KEY,    -- of the last entry that the snapshot covers
    pieces bytea NOT NULL,          -- names of its pieces, 16 bytes each
    bytes bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS pieces (
    name bytea PRIMARY KEY,
    idle bigint,                    -- since when no kept manifest names it; nothing while one does
    bytes bytea NOT NULL
);
ALTER TABLE pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS cells (
    kind smallint NOT NULL,         -- 1 skipped entries, 2 heartbeats, 3 reports of forks
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (kind, key)
);
