SELECT n.nspname IS NOT NULL AS has_schema,
    current_setting('server_encoding') AS encoding,
    ARRAY(
        SELECT c.relname::text FROM pg_catalog.pg_class c
        WHERE c.relnamespace = n.oid
          AND c.relname IN ('meta', 'settled', 'pools', 'results', 'details', 'claims', 'results_utc', 'claims_utc')
        ORDER BY 1
    ) AS relations,
    (
        SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = n.oid AND c.relname = 'meta' AND a.attname IN ('one', 'layout', 'space')
    ) AS meta_columns
FROM (VALUES (1)) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = $1
