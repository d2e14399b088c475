-- The locks. Times are microseconds since 1970 in UTC, by this machine's clock as SQLite reads it, in milliseconds. A lock
-- is held while holds > 0 and expires_at is in the future; a row that is not used for a day is removed.
CREATE TABLE IF NOT EXISTS firstcome_locks (
    name TEXT PRIMARY KEY,                     -- at most 255 bytes; longer names are shortened and carry their SHA-256
    owner TEXT NOT NULL,                       -- who has it, or had it last
    holds INTEGER NOT NULL,                    -- how many times; 0 after it was given back
    fence INTEGER NOT NULL,                    -- grows with every new owner
    expires_at INTEGER NOT NULL,               -- end of the lease; after it was given back, when that was
    acquired_at INTEGER NOT NULL,              -- when this owner took it
    waiting_until INTEGER NOT NULL DEFAULT 0,  -- not used here: who waits asks again
    request INTEGER NOT NULL,                  -- the last request that changed it, so that it can be sent again
    metadata TEXT                              -- the node that leads, where the lock is that of an election
) STRICT, WITHOUT ROWID;

-- What only the newest owner of a lock can write: see the page on locks, "guards".
CREATE TABLE IF NOT EXISTS firstcome_guards (
    name TEXT PRIMARY KEY,
    fence INTEGER NOT NULL,                    -- the highest that has written
    owner TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Semaphores and read/write locks: whoever has a permit is in its row, so that one step sees them all.
CREATE TABLE IF NOT EXISTS firstcome_permits (
    name TEXT PRIMARY KEY,                     -- begins with "semaphore:" or "rw:"
    fence INTEGER NOT NULL,                    -- grows with every permit that is given
    holders TEXT NOT NULL,                     -- JSON; of each: owner, until (the end of its lease), alone, fence
    ends_at INTEGER NOT NULL,                  -- when the last of them ends, or when the last was given back
    waiting_until INTEGER NOT NULL DEFAULT 0,  -- not used here: who waits asks again
    request INTEGER NOT NULL                   -- the last request that gave one or took one back
) STRICT, WITHOUT ROWID;
