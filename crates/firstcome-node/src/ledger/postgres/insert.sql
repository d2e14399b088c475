WITH batch AS MATERIALIZED (
    SELECT * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[],
        $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
        $16::text[], $17::text[], $18::text[], $19::bigint[], $20::text[], $21::bigint[])
        AS batch (number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, unit, hold, moved_from,
            reference, used_by, verdict, issue, import, quantity)
), written AS (
    INSERT INTO results (shard, number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, settled_at, unit,
        hold, moved_from, reference, used_by, verdict, issue, import, quantity)
    SELECT $1, number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, $2, unit, hold, moved_from,
        reference, used_by, verdict, issue, import, quantity
    FROM batch
)
INSERT INTO claims (campaign, pool, rank, subject, at, shard, result, unit, hold)
SELECT campaign, pool, rank, subject, at, $1, number, unit, hold FROM batch WHERE kind = 'claim' ORDER BY number
ON CONFLICT DO NOTHING
