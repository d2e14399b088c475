SELECT number, kind, results.campaign, pool, rank, subject, at, cancelled_by, reason, who, unit, hold, moved_from,
    reference, used_by, verdict, issue, import, quantity
FROM campaigns CROSS JOIN results
WHERE campaigns.campaign = $1
  AND number >= greatest($2, first_result) AND number <= last_result
  AND results.campaign = $1
ORDER BY number LIMIT $3
