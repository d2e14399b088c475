SELECT number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, unit, hold, moved_from,
    reference, used_by, verdict, issue, import, quantity
FROM results WHERE number > ?1 ORDER BY number LIMIT ?2
