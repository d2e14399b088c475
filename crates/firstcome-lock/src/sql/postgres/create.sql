-- The locks. Times are microseconds since 1970 in UTC, by this server's clock. A lock is held while holds > 0 and
-- expires_at is in the future; a row that is not used for a day is removed.
CREATE TABLE IF NOT EXISTS firstcome_locks (
    name text COLLATE "C" PRIMARY KEY,        -- at most 255 bytes; longer names are shortened and carry their SHA-256
    owner text NOT NULL,                      -- who has it, or had it last
    holds bigint NOT NULL,                    -- how many times; 0 after it was given back
    fence bigint NOT NULL,                    -- grows with every new owner
    expires_at bigint NOT NULL,               -- end of the lease; after it was given back, when that was
    acquired_at bigint NOT NULL,              -- when this owner took it
    waiting_until bigint NOT NULL DEFAULT 0,  -- until then somebody waits who wants to be told
    request bigint NOT NULL,                  -- the last request that changed it, so that it can be sent again
    metadata text                             -- the node that leads, where the lock is that of an election
) WITH (fillfactor = 50);

-- What only the newest owner of a lock can write: see the page on locks, "guards".
CREATE TABLE IF NOT EXISTS firstcome_guards (
    name text COLLATE "C" PRIMARY KEY,
    fence bigint NOT NULL,                    -- the highest that has written
    owner text NOT NULL,
    value bytea NOT NULL
);

-- Semaphores and read/write locks: whoever has a permit is in its row, so that one step sees them all.
CREATE TABLE IF NOT EXISTS firstcome_permits (
    name text COLLATE "C" PRIMARY KEY,        -- begins with "semaphore:" or "rw:"
    fence bigint NOT NULL,                    -- grows with every permit that is given
    holders jsonb NOT NULL,                   -- of each: owner, until (the end of its lease), alone, fence
    ends_at bigint NOT NULL,                  -- when the last of them ends, or when the last was given back
    waiting_until bigint NOT NULL DEFAULT 0,  -- until then somebody waits who wants to be told
    request bigint NOT NULL                   -- the last request that gave one or took one back
) WITH (fillfactor = 50);
