SELECT count(*), count(cancelled_at) FROM ~claims WHERE campaign = $1 AND pool = $2
