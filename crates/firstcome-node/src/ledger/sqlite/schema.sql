-- One row: whose ledger this is.
CREATE TABLE meta (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    layout  INTEGER NOT NULL,   -- of these tables: 1; a build refuses one above its own
    space   BLOB    NOT NULL CHECK (length(space) = 16),
    id      BLOB    NOT NULL CHECK (length(id) = 16),   -- drawn when the tables were made
    retried INTEGER NOT NULL    -- counts commits made only to know that a failed one is gone
) STRICT;

-- One row: up to where the results are here.
CREATE TABLE settled (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    through INTEGER NOT NULL,   -- the number of the last result
    term    INTEGER NOT NULL    -- minted here; whoever has an older one writes nothing
) STRICT;

-- One row for each result; never changed.
CREATE TABLE results (
    number       INTEGER PRIMARY KEY,  -- 1, 2, 3 without a gap
    kind         TEXT    NOT NULL,  -- 'claim', 'cancel', 'refund_due', 'moved', 'redeemed', 'rolled_back', 'code_marked' or 'unserved'
    campaign     TEXT    NOT NULL,
    pool         TEXT    NOT NULL,
    rank         INTEGER NOT NULL,  -- 0 where it is about no claim
    subject      TEXT    NOT NULL,
    at           INTEGER NOT NULL,  -- microseconds since 1970-01-01T00:00:00Z
    cancelled_by TEXT,              -- 'subject' or 'operator'
    reason       TEXT,
    who          TEXT,              -- the name of the key a claim was cancelled with, a unit moved, or a code marked
    settled_at   INTEGER NOT NULL,  -- microseconds, by the server's clock
    unit         TEXT,              -- the seat or the area, of a seated pool; of a move the new one
    hold         TEXT,              -- the id of the hold it came from
    moved_from   TEXT,              -- of a move the old seat
    reference    TEXT,              -- of a redemption and its rollback: an order or a payment
    used_by      TEXT,              -- who used the code, where somebody else than its holder was named
    verdict      TEXT,              -- of a mark 'revoke', 'suspend', 'restore' or 'reissue'; of a rollback 'expired' or null
    issue        INTEGER,           -- of a mark on one code: its issue number from then on
    import       TEXT,              -- of a mark on a whole import: its id
    quantity     INTEGER            -- of somebody unserved: how many units they wanted
) STRICT;

CREATE TRIGGER results_are_never_changed BEFORE UPDATE ON results
BEGIN SELECT raise(ABORT, 'results are never changed'); END;

CREATE TRIGGER results_are_never_deleted BEFORE DELETE ON results
BEGIN SELECT raise(ABORT, 'results are never deleted'); END;

-- One row for each claim, with what became of it.
CREATE TABLE claims (
    campaign      TEXT    NOT NULL,
    pool          TEXT    NOT NULL,
    rank          INTEGER NOT NULL, -- 1, 2, 3 without a gap in its pool
    subject       TEXT    NOT NULL,
    at            INTEGER NOT NULL, -- microseconds since 1970-01-01T00:00:00Z
    result        INTEGER NOT NULL, -- the number in results
    cancelled_at  INTEGER,          -- microseconds; null while the claim stands
    cancelled_by  TEXT,
    reason        TEXT,
    who           TEXT,
    cancel_result INTEGER,
    unit          TEXT,             -- the seat or the area it has now, of a seated pool
    hold          TEXT,             -- the id of the hold it came from
    PRIMARY KEY (campaign, pool, rank)
) STRICT, WITHOUT ROWID;

-- One row for each campaign: which results can be its own.
CREATE TABLE campaigns (
    campaign     TEXT    PRIMARY KEY,
    first_result INTEGER NOT NULL,
    last_result  INTEGER NOT NULL,
    claims       INTEGER NOT NULL,
    cancels      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The same with times for people. A column of the tables themselves would cost every insert.
CREATE VIEW results_utc AS
SELECT *, strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch') || printf('.%06dZ', at % 1000000) AS at_utc
FROM results;

CREATE VIEW claims_utc AS
SELECT *, strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch') || printf('.%06dZ', at % 1000000) AS at_utc
FROM claims;
