SELECT campaign_number, pool_number, campaign, pool, last_rank
FROM pools JOIN unnest($1::bigint[], $2::bigint[]) AS share (campaign_number, pool_number)
    USING (campaign_number, pool_number)
