WITH batch AS MATERIALIZED (
    SELECT * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
        $15::text[], $16::text[], $17::text[], $18::bigint[], $19::text[], $20::bigint[])
        AS batch (number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, unit, hold, moved_from,
            reference, used_by, verdict, issue, import, quantity)
), written AS (
    INSERT INTO results (number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, settled_at, unit,
        hold, moved_from, reference, used_by, verdict, issue, import, quantity)
    SELECT number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, $1, unit, hold, moved_from,
        reference, used_by, verdict, issue, import, quantity
    FROM batch
)
INSERT INTO claims (campaign, pool, rank, subject, at, result, unit, hold)
SELECT campaign, pool, rank, subject, at, number, unit, hold FROM batch WHERE kind = 'claim' ORDER BY number
ON CONFLICT DO NOTHING
