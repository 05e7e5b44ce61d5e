-- Request ids are random, so every call wrote a page of their index. Now a request id is found by its hash, in an index
-- that is written in the order of the hashes, many entries at a time.

ALTER TABLE instances RENAME TO former_instances;

CREATE TABLE instances (
  -- Increases with every call. Calls after `request_index.through` are not in the index of request ids yet.
  ref INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  owner INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL,
  -- Used in the conditions of the indexes: a list of states there took 2 µs more in every write.
  ended INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  settled INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  keep_until INTEGER NOT NULL,
  due_at INTEGER,
  ended_at INTEGER,
  model TEXT NOT NULL,
  rerunnable INTEGER NOT NULL,
  stop_requested INTEGER NOT NULL,
  args TEXT NOT NULL,
  media TEXT NOT NULL,
  lineage TEXT NOT NULL,
  outcome TEXT,
  -- The fields of the audit entry that are not in this row, as JSON. Only for an ended call.
  audit TEXT,
  -- Only if it differs from the caller that is stored with the owner.
  caller TEXT,
  session_id TEXT,
  parent_id TEXT,
  idempotency_key TEXT,
  locale TEXT,
  traceparent TEXT,
  progress TEXT,
  extras TEXT,
  waiting TEXT,
  answer TEXT,
  -- Reserves space in the page until the call ends. Without it, every few endings split a page.
  room TEXT
) STRICT;

INSERT INTO instances SELECT rowid, * FROM former_instances ORDER BY rowid;

-- This also drops its indexes.
DROP TABLE former_instances;

CREATE UNIQUE INDEX instances_by_id ON instances (id);
CREATE INDEX instances_by_owner ON instances (owner);

-- An idempotency key covers all versions of an operation, so the index uses only the name.
CREATE UNIQUE INDEX instances_by_key
  ON instances (owner, substr(operation, 1, instr(operation, '@') - 1), idempotency_key)
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

CREATE TABLE requests (
  -- The hash of the owner and the request id.
  hash INTEGER NOT NULL,
  instance INTEGER NOT NULL,
  PRIMARY KEY (hash, instance)
) STRICT, WITHOUT ROWID;

CREATE TABLE request_index (
  -- The secret seeds of the hashes, so that callers cannot choose request ids with the same hash.
  seed_a INTEGER NOT NULL,
  seed_b INTEGER NOT NULL,
  -- Calls up to this ref are in the index.
  through INTEGER NOT NULL
) STRICT;

INSERT INTO request_index VALUES (random() & 4294967295, random() & 4294967295, 0);
