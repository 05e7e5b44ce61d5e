-- needs: 1
-- Lists find the calls of a caller, and sort them themselves. Without the id, the index keeps the equal callers once and
-- the calls as a list: an accepted call costs 0.8 µs of Postgres less.
CREATE FUNCTION {schema}.index_callers(calls regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  old regclass;
BEGIN
  EXECUTE format('CREATE INDEX ON %s (caller)', calls);
  FOR old IN SELECT i.indexrelid FROM pg_index i
    WHERE i.indrelid = calls AND pg_get_indexdef(i.indexrelid) LIKE '%(caller, id) WHERE (caller IS NOT NULL)'
  LOOP
    EXECUTE format('DROP INDEX %s', old);
  END LOOP;
END $$;
SELECT {schema}.index_callers(c.oid) FROM pg_class c
  WHERE c.relnamespace = (SELECT s.relnamespace FROM pg_class s WHERE s.oid = (SELECT min(tableoid::bigint)::oid FROM {schema}.generations))
    AND c.relkind = 'r' AND c.relname ~ '^calls_(shape|kept|[0-9]+)$';
DROP FUNCTION {schema}.index_callers(regclass);
