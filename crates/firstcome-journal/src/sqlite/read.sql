SELECT position, at, epoch, before_node, before_number, seal, body
FROM journal WHERE position > ?1 ORDER BY position LIMIT ?2
