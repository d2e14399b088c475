UPDATE settled SET term = term + 1 WHERE shard = $1 RETURNING through, term
