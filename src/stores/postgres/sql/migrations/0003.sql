-- needs: 1
-- For operators: listing calls, and the history of their attempts. Most calls succeed at their first attempt. They have
-- none of these values, so they are in none of these indexes, and their end stays without index entries (HOT). An end
-- that an older node writes as a fault has no fault_kind: a list of failed calls leaves it out.
CREATE FUNCTION {schema}.add_list_columns(calls regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- fault_kind, fault_code: of the fault that ended the call. called_by: the call whose handler made this one. replay_of: the
  -- call that this one repeats for an operator. begun_at: when a worker took it; NULL if that was at its acceptance. past:
  -- the attempts that did not end it, as JSON objects that are separated by commas.
  EXECUTE format('ALTER TABLE %s ADD COLUMN fault_kind text, ADD COLUMN fault_code text, ADD COLUMN called_by uuid,
    ADD COLUMN replay_of uuid, ADD COLUMN begun_at bigint, ADD COLUMN past text', calls);
  EXECUTE format($sql$UPDATE %s SET fault_kind = substring(outcome FROM '"fault":\{"kind":"([^"]+)"'),
    fault_code = substring(outcome FROM '"fault":\{.*?"code":"([^"]+)"') WHERE state = 'e'$sql$, calls);
  EXECUTE format('CREATE INDEX ON %s (id) WHERE fault_kind IS NOT NULL', calls);
  EXECUTE format('CREATE INDEX ON %s (called_by, id) WHERE called_by IS NOT NULL', calls);
  EXECUTE format('CREATE INDEX ON %s (replay_of, id) WHERE replay_of IS NOT NULL', calls);
END $$;
SELECT {schema}.add_list_columns(c.oid) FROM pg_class c
  WHERE c.relnamespace = (SELECT s.relnamespace FROM pg_class s WHERE s.oid = (SELECT min(tableoid::bigint)::oid FROM {schema}.generations))
    AND c.relkind = 'r' AND c.relname ~ '^calls_(shape|kept|[0-9]+)$';
DROP FUNCTION {schema}.add_list_columns(regclass);
