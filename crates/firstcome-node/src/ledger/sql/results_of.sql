SELECT r.number, r.kind_number, p.campaign, p.pool, r.rank, r.subject, r.at, d.cancelled_by, d.reason, d.who, r.unit, r.hold,
    d.moved_from, d.reference, d.used_by, d.verdict, d.issue, d.import, d.quantity,
    r.campaign_number, r.pool_number, r.in_campaign
FROM (
    SELECT * FROM ~results
    WHERE number > $1
      AND number >= (SELECT min(first_result) FROM ~pools WHERE campaign = $2)
      AND number <= (SELECT max(last_result) FROM ~pools WHERE campaign = $2)
      -- With the sum, no index is used by which all results of the campaign would be sorted first.
      AND campaign_number + 0 = (SELECT max(campaign_number) FROM ~pools WHERE campaign = $2)
    ORDER BY number LIMIT $3
) r
JOIN ~pools p ON p.campaign_number = r.campaign_number AND p.pool_number = r.pool_number
LEFT JOIN ~details d ON d.number = r.number
ORDER BY r.number
