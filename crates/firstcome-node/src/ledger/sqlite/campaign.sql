INSERT INTO campaigns (campaign, first_result, last_result, claims, cancels)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (campaign) DO UPDATE SET
    last_result = excluded.last_result,
    claims = claims + excluded.claims,
    cancels = cancels + excluded.cancels
