INSERT INTO details (number, cancelled_by, reason, who, moved_from, reference, used_by, verdict, issue, import, quantity)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::bigint[], $10::text[], $11::bigint[])
