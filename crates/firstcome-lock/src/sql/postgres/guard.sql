-- Writes a value if the fence is not lower than any seen before, nor the same from somebody else.
--
-- $1 name  $2 fence  $3 owner  $4 new value
-- Gives the fence that is in the row, and whether it was written.
WITH step AS (
    INSERT INTO firstcome_guards AS g (name, fence, owner, value) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE SET fence = excluded.fence, owner = excluded.owner, value = excluded.value
    WHERE g.fence < excluded.fence OR (g.fence = excluded.fence AND g.owner = excluded.owner)
    RETURNING g.fence
)
SELECT fence, true FROM step
UNION ALL
SELECT fence, false FROM firstcome_guards WHERE name = $1 AND NOT EXISTS (SELECT FROM step)
