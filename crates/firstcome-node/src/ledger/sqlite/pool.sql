INSERT INTO pools (campaign_number, pool_number, campaign, pool, first_result, last_result, last_rank, cancels)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (campaign_number, pool_number) DO UPDATE SET
    last_result = excluded.last_result,
    last_rank = max(last_rank, excluded.last_rank),
    cancels = cancels + excluded.cancels
