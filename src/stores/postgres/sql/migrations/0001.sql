-- The calls are in generations: calls_1, calls_2 and so on, each with the shape of the table calls_shape. New calls go
-- to the current one. A generation whose calls are past their retention is dropped as a whole. See
-- docs/decisions/0019-generations.md.
--
-- A row is a call, or a further request id of one (state 'l', with alias_of). One table, because both take a request id.
-- Ending a call changes no indexed column, so that the new version of the row needs no index entries (HOT). The free
-- half of each page is where it goes. The log of such a change spans from the first changed column to the last one.
-- Therefore columns that never change come first.
CREATE TABLE {schema}.calls_shape (
  id uuid NOT NULL,
  -- 128 bits of a hash over tenant, owner and request id.
  request_key uuid NOT NULL,
  -- The same with the operation's name and the idempotency key.
  key_hash uuid,
  -- The row in callers of this generation. NULL for an alias.
  caller uuid,
  created_at bigint NOT NULL,
  -- The node that accepted it.
  node integer,
  -- Another call waits for it.
  child boolean NOT NULL,
  request_id text NOT NULL,
  operation text NOT NULL,
  -- JSON. Text, because jsonb refuses \u0000 and changes numbers.
  args text,
  -- JSON: fields that never change and that few calls have.
  fixed text,
  alias_of uuid,
  expires_at bigint NOT NULL,
  keep_until bigint NOT NULL,
  -- In calls_kept: the earliest time at which the call may have to be removed. NULL elsewhere.
  sweep_at bigint,
  attempt integer NOT NULL,
  settled integer NOT NULL,
  failures integer NOT NULL,
  stop_requested boolean NOT NULL,
  told boolean NOT NULL,
  -- It waits for an approval.
  held boolean NOT NULL,
  -- a: accepted, p: pending, s: streaming, c: complete, e: error, l: alias
  state "char" NOT NULL,
  revision integer NOT NULL,
  due_at bigint,
  ended_at bigint,
  -- Identifies the last write of some kinds, for a writer that got no answer.
  mark bigint,
  -- JSON from here on.
  extras text,
  progress text,
  outcome text,
  waiting text,
  answer text,
  -- The fields of the audit entry that no other column has.
  audit text
);
CREATE UNIQUE INDEX ON {schema}.calls_shape (id);
CREATE UNIQUE INDEX ON {schema}.calls_shape (request_key);
CREATE UNIQUE INDEX ON {schema}.calls_shape (key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX ON {schema}.calls_shape (caller, id) WHERE caller IS NOT NULL;
CREATE INDEX ON {schema}.calls_shape (alias_of) WHERE alias_of IS NOT NULL;

-- The callers of a generation. Calls name them by a hash, because most callers send many calls.
CREATE TABLE {schema}.callers_shape (
  hash uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  -- JSON.
  caller text NOT NULL
);
CREATE INDEX ON {schema}.callers_shape (tenant, owner);

-- Generation 0: calls that were open or kept for longer when their generation was dropped.
CREATE TABLE {schema}.calls_kept (LIKE {schema}.calls_shape INCLUDING ALL) WITH (fillfactor = 50);
CREATE INDEX ON {schema}.calls_kept (sweep_at);
CREATE TABLE {schema}.callers_kept (LIKE {schema}.callers_shape INCLUDING ALL);

CREATE TABLE {schema}.calls_1 (LIKE {schema}.calls_shape INCLUDING ALL) WITH (fillfactor = 50);
CREATE TABLE {schema}.callers_1 (LIKE {schema}.callers_shape INCLUDING ALL);

CREATE TABLE {schema}.generations (
  number integer PRIMARY KEY,
  -- next: created ahead of its use. current: takes new calls. closed: takes none. emptied: no call of it counts any more.
  state text NOT NULL,
  -- When it became the current one.
  opened_at bigint NOT NULL,
  -- When it got its state.
  since bigint NOT NULL
);
CREATE UNIQUE INDEX generations_current ON {schema}.generations (state) WHERE state = 'current';
INSERT INTO {schema}.generations VALUES (0, 'kept', 0, 0), (1, 'current', 0, 0);

-- The open calls that no node holds since it accepted them. It is an index: the row in calls decides.
CREATE TABLE {schema}.due (
  id uuid NOT NULL,
  -- Where the call is, or was until its generation was emptied.
  generation integer NOT NULL,
  operation text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  -- NULL: no worker may take it.
  due_at bigint,
  expires_at bigint NOT NULL,
  child boolean NOT NULL,
  -- It was never started and does not wait for an approval.
  queued boolean NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX due_id ON {schema}.due (id);
CREATE INDEX due_turns ON {schema}.due (operation, tenant, owner, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX due_children ON {schema}.due (operation, due_at) WHERE child AND due_at IS NOT NULL;
CREATE INDEX due_expiry ON {schema}.due (expires_at);

-- Changes of the number of rows in due. A reader adds them up, and folds them into one row for each caller.
CREATE TABLE {schema}.due_counts (
  tenant text NOT NULL,
  owner text NOT NULL,
  operation text NOT NULL,
  open bigint NOT NULL,
  queued bigint NOT NULL
);
CREATE FUNCTION {schema}.count_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.due_counts
    SELECT tenant, owner, operation, count(*), count(*) FILTER (WHERE queued) FROM added GROUP BY 1, 2, 3;
  RETURN NULL;
END $$;
CREATE FUNCTION {schema}.count_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.due_counts
    SELECT tenant, owner, operation, -count(*), -count(*) FILTER (WHERE queued) FROM removed GROUP BY 1, 2, 3;
  RETURN NULL;
END $$;
CREATE FUNCTION {schema}.count_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.due_counts
    SELECT tenant, owner, operation, 0, sum(queued) FROM (
      SELECT tenant, owner, operation, 1 AS queued FROM added WHERE queued
      UNION ALL SELECT tenant, owner, operation, -1 FROM removed WHERE queued
    ) AS changes GROUP BY 1, 2, 3 HAVING sum(queued) <> 0;
  RETURN NULL;
END $$;
CREATE TRIGGER count_added AFTER INSERT ON {schema}.due REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.count_added();
CREATE TRIGGER count_removed AFTER DELETE ON {schema}.due REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.count_removed();
CREATE TRIGGER count_changed AFTER UPDATE ON {schema}.due REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.count_changed();

-- The processes that use the store. A node has a new number after every start, and after others took it for dead.
CREATE SEQUENCE {schema}.node_numbers AS integer CYCLE;
CREATE TABLE {schema}.nodes (
  node integer PRIMARY KEY,
  alive_until bigint NOT NULL,
  -- The open calls below this id that the node accepted are in due.
  low uuid NOT NULL,
  -- Its open calls that are not in due, by caller and operation: JSON.
  counts text NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE {schema}.records (
  key text COLLATE "C" PRIMARY KEY,
  value text NOT NULL,
  expires_at bigint
);
CREATE INDEX records_expiry ON {schema}.records (expires_at) WHERE expires_at IS NOT NULL;

-- Entries without a call, and those of removed calls.
CREATE TABLE {schema}.audit (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  owner text NOT NULL,
  operation text NOT NULL,
  ended_at bigint NOT NULL,
  entry text NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX audit_ended ON {schema}.audit (ended_at);
