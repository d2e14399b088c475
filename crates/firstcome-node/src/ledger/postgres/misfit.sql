SELECT min(number) FROM results
WHERE number > $1 AND rank > 0 AND NOT EXISTS (
    SELECT 1 FROM claims
    WHERE claims.campaign = results.campaign AND claims.pool = results.pool AND claims.rank = results.rank
      AND CASE kind WHEN 'claim' THEN number = result WHEN 'cancel' THEN number = cancel_result ELSE true END
)
