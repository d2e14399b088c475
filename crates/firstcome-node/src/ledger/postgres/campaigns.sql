INSERT INTO campaigns (campaign, first_result, last_result, claims, cancels)
SELECT campaign, first_result, last_result, claims, cancels
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS share (campaign, first_result, last_result, claims, cancels)
ON CONFLICT (campaign) DO UPDATE SET
    last_result = excluded.last_result,
    claims = campaigns.claims + excluded.claims,
    cancels = campaigns.cancels + excluded.cancels
