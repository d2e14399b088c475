SELECT pool, rank, subject, at, result, cancelled_at, cancelled_by, reason, who, cancel_result, unit, hold
FROM claims WHERE campaign = $1 AND (pool, rank) > ($2, $3) ORDER BY pool, rank LIMIT $4
