-- What this role lacks of the rights to each table; nothing of tables that it has no right to at all, since it may not use those.
WITH needed AS (
    SELECT t.name, r.verb,
           CASE WHEN r.verb = 'DELETE' THEN has_table_privilege(to_regclass(t.name), r.verb)
                ELSE has_any_column_privilege(to_regclass(t.name), r.verb) END AS has
      FROM unnest(ARRAY['firstcome_locks', 'firstcome_guards', 'firstcome_permits']) AS t (name),
           unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS r (verb)
     WHERE to_regclass(t.name) IS NOT NULL
)
SELECT format('%s on %s', verb, name)
  FROM needed AS n
 WHERE NOT has
   AND (name = 'firstcome_locks' OR EXISTS (SELECT FROM needed AS other WHERE other.name = n.name AND other.has))
 ORDER BY name, verb
