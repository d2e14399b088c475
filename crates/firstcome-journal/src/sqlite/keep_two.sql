DELETE FROM manifest WHERE position NOT IN
    (SELECT position FROM manifest ORDER BY position DESC LIMIT 2)
