INSERT INTO pools (campaign_number, pool_number, campaign, pool, first_result, last_result, last_rank, cancels)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
ON CONFLICT (campaign_number, pool_number) DO UPDATE SET
    last_result = excluded.last_result,
    last_rank = greatest(pools.last_rank, excluded.last_rank),
    cancels = pools.cancels + excluded.cancels
