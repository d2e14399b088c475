UPDATE claims SET unit = m.unit
FROM (
    SELECT DISTINCT ON (campaign, pool, rank) *
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
        AS moved (number, campaign, pool, rank, subject, unit)
    ORDER BY campaign, pool, rank, number DESC
) AS m
WHERE claims.campaign = m.campaign AND claims.pool = m.pool AND claims.rank = m.rank
  AND claims.subject = m.subject AND claims.result < m.number
