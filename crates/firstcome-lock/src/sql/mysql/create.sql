-- The locks. Times are microseconds since 1970 in UTC, by this server's clock. A lock is held while holds > 0 and
-- expires_at is in the future; a row that is not used for a day is removed.
CREATE TABLE IF NOT EXISTS firstcome_locks (
    name VARCHAR(255) NOT NULL PRIMARY KEY,    -- longer names than 190 bytes are shortened and carry their SHA-256
    owner VARCHAR(255) NOT NULL,               -- who has it, or had it last
    holds BIGINT NOT NULL,                     -- how many times; 0 after it was given back
    fence BIGINT NOT NULL,                     -- grows with every new owner
    expires_at BIGINT NOT NULL,                -- end of the lease; after it was given back, when that was
    acquired_at BIGINT NOT NULL,               -- when this owner took it
    waiting_until BIGINT NOT NULL DEFAULT 0,   -- not used here: who waits asks again
    request BIGINT NOT NULL,                   -- the last request that changed it, so that it can be sent again
    metadata VARCHAR(255)                      -- the node that leads, where the lock is that of an election
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What only the newest owner of a lock can write: see the page on locks, "guards".
CREATE TABLE IF NOT EXISTS firstcome_guards (
    name VARCHAR(255) NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,                     -- the highest that has written
    owner VARCHAR(255) NOT NULL,
    value LONGBLOB NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Semaphores and read/write locks: whoever has a permit is in its row, so that one step sees them all.
CREATE TABLE IF NOT EXISTS firstcome_permits (
    name VARCHAR(255) NOT NULL PRIMARY KEY,    -- begins with "semaphore:" or "rw:"
    fence BIGINT NOT NULL,                     -- grows with every permit that is given
    holders JSON NOT NULL,                     -- of each: owner, until (the end of its lease), alone, fence
    ends_at BIGINT NOT NULL,                   -- when the last of them ends, or when the last was given back
    waiting_until BIGINT NOT NULL DEFAULT 0,   -- not used here: who waits asks again
    request BIGINT NOT NULL                    -- the last request that gave one or took one back
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
