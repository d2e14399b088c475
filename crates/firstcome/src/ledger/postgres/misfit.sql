SELECT min(number) FROM results
WHERE shard = $1 AND number > $2 AND NOT EXISTS (
    SELECT 1 FROM claims
    WHERE claims.campaign = results.campaign AND claims.pool = results.pool AND claims.rank = results.rank
      AND number = CASE kind WHEN 'claim' THEN result ELSE cancel_result END
)
