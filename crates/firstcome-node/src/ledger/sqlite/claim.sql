INSERT INTO claims (campaign, pool, rank, subject, at, result, unit, hold)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
