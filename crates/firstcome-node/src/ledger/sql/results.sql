SELECT r.number, r.kind_number, p.campaign, p.pool, r.rank, r.subject, r.at, d.cancelled_by, d.reason, d.who, r.unit, r.hold,
    d.moved_from, d.reference, d.used_by, d.verdict, d.issue, d.import, d.quantity,
    r.campaign_number, r.pool_number, r.in_campaign
FROM (SELECT * FROM ~results WHERE number > $1 ORDER BY number LIMIT $2) r
JOIN ~pools p ON p.campaign_number = r.campaign_number AND p.pool_number = r.pool_number
LEFT JOIN ~details d ON d.number = r.number
ORDER BY r.number
