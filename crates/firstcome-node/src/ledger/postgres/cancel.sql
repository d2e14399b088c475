UPDATE claims SET
    cancelled_at = c.at, cancelled_by = c.cancelled_by, reason = c.reason, who = c.who, cancel_result = c.number
FROM (
    SELECT DISTINCT ON (campaign, pool, rank) *
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[],
        $7::text[], $8::text[], $9::text[])
        AS cancel (number, campaign, pool, rank, subject, at, cancelled_by, reason, who)
    ORDER BY campaign, pool, rank, number
) AS c
WHERE claims.campaign = c.campaign AND claims.pool = c.pool AND claims.rank = c.rank
  AND claims.subject = c.subject AND claims.result < c.number AND claims.cancelled_at IS NULL
