INSERT INTO journal (position, at, epoch, before_node, before_number, seal, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
