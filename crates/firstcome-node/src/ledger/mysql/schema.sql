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

-- One row for each pool with results: its names, and which results can be its own.
CREATE TABLE pools (
    campaign_number BIGINT NOT NULL,
    pool_number     BIGINT NOT NULL,
    campaign        VARCHAR(64) NOT NULL,
    pool            VARCHAR(64) NOT NULL,
    first_result    BIGINT NOT NULL,
    last_result     BIGINT NOT NULL,
    last_rank       BIGINT NOT NULL,
    cancels         BIGINT NOT NULL,
    PRIMARY KEY (campaign_number, pool_number),
    UNIQUE (campaign, pool)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each result; never changed.
CREATE TABLE results (
    number          BIGINT PRIMARY KEY,
    campaign_number BIGINT NOT NULL,
    pool_number     BIGINT NOT NULL,
    in_campaign     BIGINT NOT NULL,
    rank            BIGINT NOT NULL,
    kind_number     BIGINT NOT NULL,
    at              BIGINT NOT NULL,
    subject         VARCHAR(255) NOT NULL,
    unit            TEXT,
    hold            TEXT,
    KEY results_by_rank (campaign_number, pool_number, rank, kind_number)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each endpoint that is sent results.
CREATE TABLE webhooks (
    id       VARCHAR(64) PRIMARY KEY,
    version  BIGINT NOT NULL,
    document MEDIUMTEXT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row for each result that says more; never changed.
CREATE TABLE details (
    number       BIGINT PRIMARY KEY,
    cancelled_by VARCHAR(16),
    reason       TEXT,
    who          TEXT,
    moved_from   TEXT,
    reference    TEXT,
    used_by      TEXT,
    verdict      TEXT,
    issue        BIGINT,
    import       TEXT,
    quantity     BIGINT
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
