-- Entries whose commands never run; made with the first one.
CREATE TABLE IF NOT EXISTS skip (
    position INTEGER PRIMARY KEY,
    record   BLOB    NOT NULL   -- position, name, time, reason and who, with a checksum
) STRICT;
