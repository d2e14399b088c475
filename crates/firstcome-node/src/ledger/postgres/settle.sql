UPDATE settled SET through = $1 WHERE one = 1 AND through = $2 AND term = $3
