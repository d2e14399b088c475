SELECT pool, rank, subject, at, result, cancelled_at, cancelled_by, reason, who, cancel_result, unit, hold
FROM claims WHERE campaign = $1 AND pool = $2 AND rank = $3
