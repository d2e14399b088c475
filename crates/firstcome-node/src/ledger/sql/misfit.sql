SELECT min(r.number) FROM ~results r
WHERE r.number > $1 AND r.rank > 0 AND r.kind_number <> 1 AND (
    NOT EXISTS (
        SELECT 1 FROM ~results claim
        WHERE claim.campaign_number = r.campaign_number AND claim.pool_number = r.pool_number
          AND claim.rank = r.rank AND claim.kind_number = 1
          AND claim.subject = r.subject AND claim.number < r.number
    )
    OR r.kind_number = 2 AND EXISTS (
        SELECT 1 FROM ~results earlier
        WHERE earlier.campaign_number = r.campaign_number AND earlier.pool_number = r.pool_number
          AND earlier.rank = r.rank AND earlier.kind_number = 2 AND earlier.number < r.number
    )
)
