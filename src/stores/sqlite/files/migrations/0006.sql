-- Callers choose request ids at random, and an index on them is written at random: every call wrote a page of it for
-- itself. They are found by a hash now, in an index that is written in its own order, many entries at a time.

ALTER TABLE instances RENAME TO former_instances;

CREATE TABLE instances (
  -- Grows from call to call: those behind a certain one are not in the index of request ids yet.
  ref INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  owner INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL,
  -- Says of the state what the indexes need: a list of states in their conditions cost 2 µs more in every write.
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
  -- What the trail says of it beyond what stands here, as JSON; of an ended call only.
  audit TEXT,
  -- Where it is not the one that is kept with its owner.
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
  -- Filled until the call ends, so that its end finds room in its page: without it, every few ends split one.
  room TEXT
) STRICT;

INSERT INTO instances SELECT rowid, * FROM former_instances ORDER BY rowid;

-- Its indexes go with it.
DROP TABLE former_instances;

CREATE UNIQUE INDEX instances_by_id ON instances (id);
CREATE INDEX instances_by_owner ON instances (owner);

-- A key is good for all versions under one name, so what follows the name is left out.
CREATE UNIQUE INDEX instances_by_key
  ON instances (owner, substr(operation, 1, instr(operation, '@') - 1), idempotency_key)
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

CREATE TABLE requests (
  -- Of the owner and the request id.
  hash INTEGER NOT NULL,
  instance INTEGER NOT NULL,
  PRIMARY KEY (hash, instance)
) STRICT, WITHOUT ROWID;

CREATE TABLE request_index (
  -- What the hashes begin with, so that which request ids have the same one is not known outside.
  seed_a INTEGER NOT NULL,
  seed_b INTEGER NOT NULL,
  -- Calls up to this ref are in the index.
  through INTEGER NOT NULL
) STRICT;

INSERT INTO request_index VALUES (random() & 4294967295, random() & 4294967295, 0);
