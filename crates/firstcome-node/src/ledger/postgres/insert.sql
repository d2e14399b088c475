INSERT INTO results (number, campaign_number, pool_number, in_campaign, rank, kind_number, at, subject, unit, hold)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
    $8::text[], $9::text[], $10::text[])
