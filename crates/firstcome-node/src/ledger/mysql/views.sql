-- One row for each result, with all it says.
CREATE OR REPLACE VIEW ~results_utc AS
SELECT r.number, r.campaign_number, r.pool_number, r.in_campaign, p.campaign, p.pool, r.rank,
    CASE r.kind_number WHEN 1 THEN 'claim' WHEN 2 THEN 'cancel' WHEN 3 THEN 'refund_due' WHEN 4 THEN 'moved'
        WHEN 5 THEN 'redeemed' WHEN 6 THEN 'rolled_back' WHEN 7 THEN 'code_marked' WHEN 29 THEN 'unserved' END AS kind,
    r.at, r.subject, r.unit, r.hold, d.cancelled_by, d.reason, d.who, d.moved_from, d.reference, d.used_by, d.verdict,
    d.issue, d.import, d.quantity,
    CONCAT(DATE_FORMAT(TIMESTAMPADD(MICROSECOND, r.at, '1970-01-01 00:00:00'), '%Y-%m-%dT%H:%i:%s.%f'), 'Z') AS at_utc
FROM ~results r
JOIN ~pools p ON p.campaign_number = r.campaign_number AND p.pool_number = r.pool_number
LEFT JOIN ~details d ON d.number = r.number;

-- One row for each claim, with what became of it. The last move is the one with no other behind it: with a subquery among
-- its columns, a view would be read whole for each query.
CREATE OR REPLACE VIEW ~claims AS
SELECT p.campaign, p.pool, r.rank, r.subject, r.at, r.number AS result,
    c.at AS cancelled_at, d.cancelled_by, d.reason, d.who, c.number AS cancel_result,
    COALESCE(m.unit, r.unit) AS unit, r.hold
FROM ~results r
JOIN ~pools p ON p.campaign_number = r.campaign_number AND p.pool_number = r.pool_number
LEFT JOIN ~results c ON c.campaign_number = r.campaign_number AND c.pool_number = r.pool_number AND c.rank = r.rank
    AND c.kind_number = 2
LEFT JOIN ~details d ON d.number = c.number
LEFT JOIN ~results m ON m.campaign_number = r.campaign_number AND m.pool_number = r.pool_number AND m.rank = r.rank
    AND m.kind_number = 4 AND NOT EXISTS (
        SELECT 1 FROM ~results later
        WHERE later.campaign_number = m.campaign_number AND later.pool_number = m.pool_number
          AND later.rank = m.rank AND later.kind_number = 4 AND later.number > m.number
    )
WHERE r.kind_number = 1;

CREATE OR REPLACE VIEW ~claims_utc AS
SELECT campaign, pool, rank, subject, at, result, cancelled_at, cancelled_by, reason, who, cancel_result, unit, hold,
    CONCAT(DATE_FORMAT(TIMESTAMPADD(MICROSECOND, at, '1970-01-01 00:00:00'), '%Y-%m-%dT%H:%i:%s.%f'), 'Z') AS at_utc
FROM ~claims
