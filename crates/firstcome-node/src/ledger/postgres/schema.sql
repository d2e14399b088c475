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

-- One row for each result; never changed.
CREATE TABLE results (
    number       bigint PRIMARY KEY,  -- 1, 2, 3 without a gap
    rank         bigint NOT NULL,  -- 0 where it is about no claim
    at           bigint NOT NULL,  -- microseconds since 1970-01-01T00:00:00Z
    settled_at   bigint NOT NULL,  -- microseconds, by the server's clock
    kind         text   NOT NULL COLLATE "C",  -- 'claim', 'cancel', 'refund_due', 'moved', 'redeemed', 'rolled_back', 'code_marked' or 'unserved'
    campaign     text   NOT NULL COLLATE "C",
    pool         text   NOT NULL COLLATE "C",
    subject      text   NOT NULL COLLATE "C",
    cancelled_by text   COLLATE "C",           -- 'subject' or 'operator'
    reason       text   COLLATE "C",
    who          text   COLLATE "C",           -- the name of the key a claim was cancelled with, a unit moved, or a code marked
    unit         text   COLLATE "C",           -- the seat or the area, of a seated pool; of a move the new one
    hold         text   COLLATE "C",           -- the id of the hold it came from
    moved_from   text   COLLATE "C",           -- of a move the old seat
    reference    text   COLLATE "C",           -- of a redemption and its rollback: an order or a payment
    used_by      text   COLLATE "C",           -- who used the code, where somebody else than its holder was named
    verdict      text   COLLATE "C",           -- of a mark 'revoke', 'suspend', 'restore' or 'reissue'; of a rollback 'expired' or null
    issue        bigint,                       -- of a mark on one code: its issue number from then on
    import       text   COLLATE "C",           -- of a mark on a whole import: its id
    quantity     bigint                        -- of somebody unserved: how many units they wanted
);

CREATE FUNCTION results_are_never_changed() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN RAISE EXCEPTION ''results are never changed''; END';

CREATE TRIGGER results_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON results
FOR EACH STATEMENT EXECUTE FUNCTION results_are_never_changed();

-- One row for each claim, with what became of it.
CREATE TABLE claims (
    rank          bigint NOT NULL, -- 1, 2, 3 without a gap in its pool
    at            bigint NOT NULL, -- microseconds since 1970-01-01T00:00:00Z
    result        bigint NOT NULL, -- the number in results
    cancelled_at  bigint,          -- microseconds; null while the claim stands
    cancel_result bigint,
    campaign      text   NOT NULL COLLATE "C",
    pool          text   NOT NULL COLLATE "C",
    subject       text   NOT NULL COLLATE "C",
    cancelled_by  text   COLLATE "C",
    reason        text   COLLATE "C",
    who           text   COLLATE "C",
    unit          text   COLLATE "C",  -- the seat or the area it has now, of a seated pool
    hold          text   COLLATE "C",  -- the id of the hold it came from
    PRIMARY KEY (campaign, pool, rank)
);

-- One row for each campaign: which results can be its own.
CREATE TABLE campaigns (
    campaign     text   PRIMARY KEY COLLATE "C",
    first_result bigint NOT NULL,
    last_result  bigint NOT NULL,
    claims       bigint NOT NULL,
    cancels      bigint NOT NULL
);

-- The same with times for people.
CREATE VIEW results_utc AS
SELECT *, to_char(to_timestamp(at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '.' || lpad((at % 1000000)::text, 6, '0') || 'Z' AS at_utc
FROM results;

CREATE VIEW claims_utc AS
SELECT *, to_char(to_timestamp(at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '.' || lpad((at % 1000000)::text, 6, '0') || 'Z' AS at_utc
FROM claims;
