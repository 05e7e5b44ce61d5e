-- Instances and the further request ids that stand for them.

-- A rowid table: WITHOUT ROWID was no faster, and repeats the id in every index.
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
  -- Says of the state what the indexes need: a list of states in their conditions cost 2 µs more in every write.
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

-- A key is good for all versions under one name, so what follows the name is left out.
CREATE UNIQUE INDEX instances_by_key
  ON instances (tenant, owner, substr(operation, 1, instr(operation, '@') - 1), idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- What workers take, by operation, in order; and of that the calls that others wait for.
CREATE INDEX instances_due ON instances (operation, due_at)
  WHERE due_at IS NOT NULL;
CREATE INDEX instances_due_children ON instances (operation, due_at)
  WHERE due_at IS NOT NULL AND lineage <> '[]';

-- The unended, by expiry; the ended, by when they may go. An instance is in one of the two.
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
