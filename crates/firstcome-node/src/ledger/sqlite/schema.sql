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

-- One row for each pool with results: its names, and which results can be its own.
CREATE TABLE pools (
    campaign_number INTEGER NOT NULL,
    pool_number     INTEGER NOT NULL,  -- 0, 1, 2 in its campaign
    campaign        TEXT    NOT NULL,
    pool            TEXT    NOT NULL,
    first_result    INTEGER NOT NULL,
    last_result     INTEGER NOT NULL,
    last_rank       INTEGER NOT NULL,  -- as many claims as that
    cancels         INTEGER NOT NULL,
    PRIMARY KEY (campaign_number, pool_number),
    UNIQUE (campaign, pool)
) STRICT, WITHOUT ROWID;

-- One row for each result; never changed.
CREATE TABLE results (
    number          INTEGER PRIMARY KEY,  -- 1, 2, 3 without a gap
    campaign_number INTEGER NOT NULL,
    pool_number     INTEGER NOT NULL,
    in_campaign     INTEGER NOT NULL,  -- its number among the results of its campaign
    rank            INTEGER NOT NULL,  -- 1, 2, 3 without a gap in its pool; 0 where it is about no claim
    kind_number     INTEGER NOT NULL,  -- 1 is a claim, 2 a cancel: see results_utc
    at              INTEGER NOT NULL,  -- microseconds since 1970-01-01T00:00:00Z
    subject         TEXT    NOT NULL,
    unit            TEXT,              -- the seat or the area, of a seated pool; of a move the new one
    hold            TEXT               -- the id of the hold it came from
) STRICT;

CREATE INDEX results_by_rank ON results (campaign_number, pool_number, rank, kind_number);

-- One row for each result that says more; never changed.
CREATE TABLE details (
    number       INTEGER PRIMARY KEY,
    cancelled_by TEXT,     -- 'subject' or 'operator'
    reason       TEXT,
    who          TEXT,     -- the name of the key a claim was cancelled with, a unit moved, or a code marked
    moved_from   TEXT,     -- of a move the old seat
    reference    TEXT,     -- of a redemption and its rollback: an order or a payment
    used_by      TEXT,     -- who used the code, where somebody else than its holder was named
    verdict      TEXT,     -- of a mark 'revoke', 'suspend', 'restore' or 'reissue'; of a rollback 'expired' or null
    issue        INTEGER,  -- of a mark on one code: its issue number from then on
    import       TEXT,     -- of a mark on a whole import: its id
    quantity     INTEGER   -- of somebody unserved: how many units they wanted
) STRICT;

CREATE TRIGGER results_are_never_changed BEFORE UPDATE ON results
BEGIN SELECT raise(ABORT, 'results are never changed'); END;

CREATE TRIGGER results_are_never_deleted BEFORE DELETE ON results
BEGIN SELECT raise(ABORT, 'results are never deleted'); END;

CREATE TRIGGER details_are_never_changed BEFORE UPDATE ON details
BEGIN SELECT raise(ABORT, 'results are never changed'); END;

CREATE TRIGGER details_are_never_deleted BEFORE DELETE ON details
BEGIN SELECT raise(ABORT, 'results are never deleted'); END;

-- One row for each endpoint that is sent results.
CREATE TABLE webhooks (
    id       TEXT    PRIMARY KEY,
    version  INTEGER NOT NULL,  -- one more with each change
    document TEXT    NOT NULL   -- JSON: its settings with its secrets, and up to where results were sent
) STRICT, WITHOUT ROWID;

-- One row for each result, with all it says.
CREATE VIEW results_utc AS
SELECT r.number, r.campaign_number, r.pool_number, r.in_campaign, p.campaign, p.pool, r.rank,
    CASE r.kind_number WHEN 1 THEN 'claim' WHEN 2 THEN 'cancel' WHEN 3 THEN 'refund_due' WHEN 4 THEN 'moved'
        WHEN 5 THEN 'redeemed' WHEN 6 THEN 'rolled_back' WHEN 7 THEN 'code_marked' WHEN 29 THEN 'unserved' END AS kind,
    r.at, r.subject, r.unit, r.hold, d.cancelled_by, d.reason, d.who, d.moved_from, d.reference, d.used_by, d.verdict,
    d.issue, d.import, d.quantity,
    strftime('%Y-%m-%dT%H:%M:%S', r.at / 1000000, 'unixepoch') || printf('.%06dZ', r.at % 1000000) AS at_utc
FROM results r
JOIN pools p ON p.campaign_number = r.campaign_number AND p.pool_number = r.pool_number
LEFT JOIN details d ON d.number = r.number;

-- One row for each claim, with what became of it.
CREATE VIEW claims AS
SELECT p.campaign, p.pool, r.rank, r.subject, r.at, r.number AS result,
    c.at AS cancelled_at, d.cancelled_by, d.reason, d.who, c.number AS cancel_result,
    coalesce((
        SELECT m.unit FROM results m
        WHERE m.campaign_number = r.campaign_number AND m.pool_number = r.pool_number AND m.rank = r.rank
          AND m.kind_number = 4
        ORDER BY m.number DESC LIMIT 1
    ), r.unit) AS unit, r.hold
FROM results r
JOIN pools p ON p.campaign_number = r.campaign_number AND p.pool_number = r.pool_number
LEFT JOIN results c ON c.campaign_number = r.campaign_number AND c.pool_number = r.pool_number AND c.rank = r.rank
    AND c.kind_number = 2
LEFT JOIN details d ON d.number = c.number
WHERE r.kind_number = 1;

CREATE VIEW claims_utc AS
SELECT *, strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch') || printf('.%06dZ', at % 1000000) AS at_utc
FROM claims;
