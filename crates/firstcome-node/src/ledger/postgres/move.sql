UPDATE claims SET unit = m.unit
FROM (
    SELECT DISTINCT ON (campaign, pool, rank) *
    FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
        AS moved (number, campaign, pool, rank, subject, unit)
    ORDER BY campaign, pool, rank, number DESC
) AS m
WHERE claims.campaign = m.campaign AND claims.pool = m.pool AND claims.rank = m.rank
  AND claims.shard = $1 AND claims.subject = m.subject AND claims.result < m.number
