UPDATE claims SET unit = ?1
WHERE campaign = ?2 AND pool = ?3 AND rank = ?4 AND subject = ?5 AND cancelled_at IS NULL
