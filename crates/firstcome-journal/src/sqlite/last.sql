SELECT position, at, epoch, before_node, before_number, seal, body
FROM journal ORDER BY position DESC LIMIT 1
