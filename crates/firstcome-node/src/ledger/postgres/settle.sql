UPDATE settled SET through = $1 WHERE shard = $2 AND through = $3 AND term = $4
