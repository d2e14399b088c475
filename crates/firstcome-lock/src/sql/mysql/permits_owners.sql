-- Tells which of some owners have a permit of this name.
SELECT h.owner
FROM firstcome_permits
JOIN JSON_TABLE(firstcome_permits.holders, {columns}) AS h
WHERE name = {name} AND h.owner IN ({owners})
    AND h.until > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
