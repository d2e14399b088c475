UPDATE settled SET term = term + 1 WHERE one = 1 RETURNING through, term
