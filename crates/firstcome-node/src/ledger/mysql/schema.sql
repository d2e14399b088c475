-- One row: whose ledger this is. Made first, and its row last: with the row, everything is there.
CREATE TABLE meta (
    one     TINYINT PRIMARY KEY CHECK (one = 1),
    layout  BIGINT NOT NULL,
    space   BINARY(16) NOT NULL,
    id      BINARY(16) NOT NULL
) ENGINE = InnoDB;

-- One row: up to where the results are here.
CREATE TABLE settled (
    one     TINYINT PRIMARY KEY CHECK (one = 1),
    through BIGINT NOT NULL,
    term    BIGINT NOT NULL
) ENGINE = InnoDB;

-- One row for each result; never changed.
CREATE TABLE results (
    number       BIGINT PRIMARY KEY,
    rank         BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    settled_at   BIGINT NOT NULL,
    kind         VARCHAR(16) NOT NULL,
    campaign     VARCHAR(64) NOT NULL,
    pool         VARCHAR(64) NOT NULL,
    subject      VARCHAR(255) NOT NULL,
    cancelled_by VARCHAR(16),
    reason       TEXT,
    who          TEXT,
    unit         TEXT,
    hold         TEXT,
    moved_from   TEXT,
    reference    TEXT,
    used_by      TEXT,
    verdict      TEXT,
    issue        BIGINT,
    import       TEXT,
    quantity     BIGINT
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each claim, with what became of it.
CREATE TABLE claims (
    rank          BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    result        BIGINT NOT NULL,
    cancelled_at  BIGINT,
    cancel_result BIGINT,
    campaign      VARCHAR(64) NOT NULL,
    pool          VARCHAR(64) NOT NULL,
    subject       VARCHAR(255) NOT NULL,
    cancelled_by  VARCHAR(16),
    reason        TEXT,
    who           TEXT,
    unit          TEXT,
    hold          TEXT,
    PRIMARY KEY (campaign, pool, rank)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each campaign: which results can be its own.
CREATE TABLE campaigns (
    campaign     VARCHAR(64) PRIMARY KEY,
    first_result BIGINT NOT NULL,
    last_result  BIGINT NOT NULL,
    claims       BIGINT NOT NULL,
    cancels      BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
