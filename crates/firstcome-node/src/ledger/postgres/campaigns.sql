INSERT INTO campaigns (campaign, shard, first_result, last_result, claims, cancels)
SELECT campaign, $1, first_result, last_result, claims, cancels
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS share (campaign, first_result, last_result, claims, cancels)
ON CONFLICT (campaign) DO UPDATE SET
    last_result = excluded.last_result,
    claims = campaigns.claims + excluded.claims,
    cancels = campaigns.cancels + excluded.cancels
