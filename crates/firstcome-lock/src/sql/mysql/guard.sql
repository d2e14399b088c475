-- Writes a value if the fence is not lower than any seen before, nor the same from somebody else. The assignments are made in
-- this order, and each sees those before it.
INSERT INTO firstcome_guards (name, fence, owner, value) VALUES ({name}, {fence}, {owner}, {value})
ON DUPLICATE KEY UPDATE
    value = IF(fence < {fence} OR fence = {fence} AND owner = {owner}, VALUES(value), value),
    owner = IF(fence < {fence}, {owner}, owner),
    fence = GREATEST(fence, {fence});
-- What was written may have been overtaken since.
SELECT fence, ROW_COUNT() > 0 OR fence = {fence} AND owner = {owner} FROM firstcome_guards WHERE name = {name};
