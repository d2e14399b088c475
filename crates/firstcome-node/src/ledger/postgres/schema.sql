-- One row: whose ledger this is.
CREATE TABLE meta (
    one     integer PRIMARY KEY CHECK (one = 1),
    layout  bigint  NOT NULL,   -- of these tables: 1; a build refuses one above its own
    space   bytea   NOT NULL CHECK (octet_length(space) = 16),
    id      bytea   NOT NULL CHECK (octet_length(id) = 16)  -- drawn when the tables were made
);

-- One row: up to where the results are here.
CREATE TABLE settled (
    one     integer PRIMARY KEY CHECK (one = 1),
    through bigint NOT NULL,    -- the number of the last result
    term    bigint NOT NULL     -- minted here; whoever has an older one writes nothing
);

-- One row for each pool with results: its names, and which results can be its own.
CREATE TABLE pools (
    campaign_number bigint NOT NULL,
    pool_number     bigint NOT NULL,  -- 0, 1, 2 in its campaign
    campaign        text   NOT NULL COLLATE "C",
    pool            text   NOT NULL COLLATE "C",
    first_result    bigint NOT NULL,
    last_result     bigint NOT NULL,
    last_rank       bigint NOT NULL,  -- as many claims as that
    cancels         bigint NOT NULL,
    PRIMARY KEY (campaign_number, pool_number),
    UNIQUE (campaign, pool)
);

-- One row for each result; never changed.
CREATE TABLE results (
    number          bigint PRIMARY KEY,  -- 1, 2, 3 without a gap
    campaign_number bigint NOT NULL,
    pool_number     bigint NOT NULL,
    in_campaign     bigint NOT NULL,  -- its number among the results of its campaign
    rank            bigint NOT NULL,  -- 1, 2, 3 without a gap in its pool; 0 where it is about no claim
    kind_number     bigint NOT NULL,  -- 1 is a claim, 2 a cancel: see results_utc
    at              bigint NOT NULL,  -- microseconds since 1970-01-01T00:00:00Z
    subject         text   NOT NULL COLLATE "C",
    unit            text   COLLATE "C",  -- the seat or the area, of a seated pool; of a move the new one
    hold            text   COLLATE "C"   -- the id of the hold it came from
);

CREATE INDEX results_by_rank ON results (campaign_number, pool_number, rank, kind_number);

-- One row for each endpoint that is sent results.
CREATE TABLE webhooks (
    id       text   PRIMARY KEY COLLATE "C",
    version  bigint NOT NULL,  -- one more with each change
    document text   NOT NULL   -- JSON: its settings with its secrets, and up to where results were sent
);

-- One row for each result that says more; never changed.
CREATE TABLE details (
    number       bigint PRIMARY KEY,
    cancelled_by text COLLATE "C",  -- 'subject' or 'operator'
    reason       text COLLATE "C",
    who          text COLLATE "C",  -- the name of the key a claim was cancelled with, a unit moved, or a code marked
    moved_from   text COLLATE "C",  -- of a move the old seat
    reference    text COLLATE "C",  -- of a redemption and its rollback: an order or a payment
    used_by      text COLLATE "C",  -- who used the code, where somebody else than its holder was named
    verdict      text COLLATE "C",  -- of a mark 'revoke', 'suspend', 'restore' or 'reissue'; of a rollback 'expired' or null
    issue        bigint,            -- of a mark on one code: its issue number from then on
    import       text COLLATE "C",  -- of a mark on a whole import: its id
    quantity     bigint             -- of somebody unserved: how many units they wanted
);

CREATE FUNCTION results_are_never_changed() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN RAISE EXCEPTION ''results are never changed''; END';

CREATE TRIGGER results_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON results
FOR EACH STATEMENT EXECUTE FUNCTION results_are_never_changed();

CREATE TRIGGER details_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON details
FOR EACH STATEMENT EXECUTE FUNCTION results_are_never_changed();

-- One row for each result, with all it says.
CREATE VIEW results_utc AS
SELECT r.number, r.campaign_number, r.pool_number, r.in_campaign, p.campaign, p.pool, r.rank,
    CASE r.kind_number WHEN 1 THEN 'claim' WHEN 2 THEN 'cancel' WHEN 3 THEN 'refund_due' WHEN 4 THEN 'moved'
        WHEN 5 THEN 'redeemed' WHEN 6 THEN 'rolled_back' WHEN 7 THEN 'code_marked' WHEN 29 THEN 'unserved' END AS kind,
    r.at, r.subject, r.unit, r.hold, d.cancelled_by, d.reason, d.who, d.moved_from, d.reference, d.used_by, d.verdict,
    d.issue, d.import, d.quantity,
    to_char(to_timestamp(r.at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
        || '.' || lpad((r.at % 1000000)::text, 6, '0') || 'Z' AS at_utc
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
SELECT *, to_char(to_timestamp(at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '.' || lpad((at % 1000000)::text, 6, '0') || 'Z' AS at_utc
FROM claims;
