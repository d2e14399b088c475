INSERT INTO results (number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, settled_at, unit, hold, moved_from,
    reference, used_by, verdict, issue, import, quantity)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
