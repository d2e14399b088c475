-- The tables of one journal; `~` stands for what their names begin with. Times are microseconds since 1970 in UTC, by this
-- server's clock. Names of entries have 24 bytes: node, then number, little-endian.
CREATE TABLE IF NOT EXISTS `~entries` (
    position BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    name VARBINARY(24) NOT NULL,
    before_name VARBINARY(24) NOT NULL,
    body LONGBLOB NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS `~manifests` (
    position BIGINT NOT NULL PRIMARY KEY,
    pieces LONGBLOB NOT NULL,
    bytes LONGBLOB NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS `~pieces` (
    name VARBINARY(16) NOT NULL PRIMARY KEY,
    idle BIGINT,
    bytes LONGBLOB NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS `~cells` (
    kind TINYINT NOT NULL,
    cell VARBINARY(64) NOT NULL,
    value LONGBLOB NOT NULL,
    PRIMARY KEY (kind, cell)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS `~run` (
    one TINYINT NOT NULL PRIMARY KEY,
    token BIGINT NOT NULL
) ENGINE = MEMORY;
-- Last: where it is, the others are, too. One row, which every append locks.
CREATE TABLE IF NOT EXISTS `~head` (
    one TINYINT NOT NULL PRIMARY KEY,
    tables INT NOT NULL,
    space VARBINARY(16),
    level BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    term BIGINT NOT NULL,
    base_position BIGINT NOT NULL,
    base_name VARBINARY(24) NOT NULL,
    base_at BIGINT,
    last_position BIGINT NOT NULL,
    last_name VARBINARY(24) NOT NULL,
    last_at BIGINT,
    mark VARBINARY(512)
) ENGINE = InnoDB
