-- The same with times for people.
CREATE OR REPLACE VIEW ~results_utc AS
SELECT number, rank, at, settled_at, kind, campaign, pool, subject, cancelled_by, reason, who, unit, hold, moved_from,
    reference, used_by, verdict, issue, import, quantity,
    CONCAT(DATE_FORMAT(TIMESTAMPADD(MICROSECOND, at, '1970-01-01 00:00:00'), '%Y-%m-%dT%H:%i:%s.%f'), 'Z') AS at_utc
FROM ~results;

CREATE OR REPLACE VIEW ~claims_utc AS
SELECT rank, at, result, cancelled_at, cancel_result, campaign, pool, subject, cancelled_by, reason, who, unit, hold,
    CONCAT(DATE_FORMAT(TIMESTAMPADD(MICROSECOND, at, '1970-01-01 00:00:00'), '%Y-%m-%dT%H:%i:%s.%f'), 'Z') AS at_utc
FROM ~claims
