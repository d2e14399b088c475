UPDATE claims SET cancelled_at = ?1, cancelled_by = ?2, reason = ?3, who = ?4, cancel_result = ?5
WHERE campaign = ?6 AND pool = ?7 AND rank = ?8 AND subject = ?9 AND cancelled_at IS NULL
