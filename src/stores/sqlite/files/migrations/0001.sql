-- Instances, and the further request ids that refer to them.

-- A rowid table, because WITHOUT ROWID was no faster and repeats the id in every index.
CREATE TABLE instances (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  caller TEXT NOT NULL,
  request_id TEXT NOT NULL,
  session_id TEXT,
  parent_id TEXT,
  operation TEXT NOT NULL,
  model TEXT NOT NULL,
  args TEXT NOT NULL,
  media TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  idempotency_key TEXT,
  lineage TEXT NOT NULL,
  locale TEXT,
  traceparent TEXT,
  state TEXT NOT NULL,
  -- Used in the conditions of the indexes: a list of states there took 2 µs more in every write.
  ended INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  settled INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  rerunnable INTEGER NOT NULL,
  stop_requested INTEGER NOT NULL,
  progress TEXT,
  outcome TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  keep_until INTEGER NOT NULL,
  due_at INTEGER
) STRICT;

CREATE UNIQUE INDEX instances_by_id ON instances (id);

CREATE UNIQUE INDEX instances_by_request ON instances (tenant, owner, request_id);

-- An idempotency key covers all versions of an operation, so the index uses only the name.
CREATE UNIQUE INDEX instances_by_key
  ON instances (tenant, owner, substr(operation, 1, instr(operation, '@') - 1), idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- The calls for workers, by operation and due time. The second index has only child calls.
CREATE INDEX instances_due ON instances (operation, due_at)
  WHERE due_at IS NOT NULL;
CREATE INDEX instances_due_children ON instances (operation, due_at)
  WHERE due_at IS NOT NULL AND lineage <> '[]';

-- Open calls by expiry, and ended calls by removal time. An instance is in one of the two.
CREATE INDEX instances_open ON instances (expires_at)
  WHERE ended = 0;
CREATE INDEX instances_ended ON instances (keep_until)
  WHERE ended = 1;

CREATE TABLE aliases (
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  request_id TEXT NOT NULL,
  session_id TEXT,
  instance_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, request_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX aliases_by_instance ON aliases (instance_id);
