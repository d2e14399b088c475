-- One row: whose journal this is.
CREATE TABLE head (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    space   BLOB    NOT NULL CHECK (length(space) = 16),
    level   INTEGER NOT NULL,   -- of the stored bytes; a build refuses one above its own
    epoch   INTEGER NOT NULL,   -- how many forks were resolved
    term    INTEGER NOT NULL,   -- minted here for snapshots and trimming
    settled INTEGER NOT NULL    -- counts commits made only to know that a failed one is gone
) STRICT;

-- One row for each batch.
CREATE TABLE journal (
    position      INTEGER PRIMARY KEY,  -- dense: head + 1
    at            INTEGER NOT NULL,     -- microseconds since 1970-01-01T00:00:00Z, never going back
    epoch         INTEGER NOT NULL,
    before_node   BLOB    NOT NULL,     -- the name of the entry before
    before_number INTEGER NOT NULL,
    seal          INTEGER NOT NULL,     -- checksum over all other columns and the space
    body          BLOB    NOT NULL
) STRICT;

-- Pieces of snapshots, named by their content.
CREATE TABLE piece (
    name       BLOB    NOT NULL UNIQUE,
    written_at INTEGER NOT NULL,
    bytes      BLOB    NOT NULL
) STRICT;

-- Pieces that no kept manifest names, and since when.
CREATE TABLE unnamed (
    name  BLOB    PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The newest snapshot and the one before it.
CREATE TABLE manifest (
    position     INTEGER PRIMARY KEY,
    term         INTEGER NOT NULL,
    installed_at INTEGER NOT NULL,
    pieces       BLOB    NOT NULL,  -- the names of its pieces, 16 bytes each
    bytes        BLOB    NOT NULL
) STRICT;
