-- The caller is stored once per owner instead of in every call, and a call's audit entry is in its own row until the call
-- is removed. Writing these twice for every call took half of the time of a durable call.

CREATE TABLE owners (
  ref INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  -- The caller of one of the owner's calls. A call with a different caller has its own.
  caller TEXT NOT NULL
) STRICT;

INSERT INTO owners (tenant, owner, caller)
  SELECT tenant, owner, min(caller) FROM instances GROUP BY tenant, owner;

CREATE UNIQUE INDEX owners_by_name ON owners (tenant, owner);

ALTER TABLE instances RENAME TO former_instances;

CREATE TABLE instances (
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

INSERT INTO instances
  SELECT id, ref, request_id, operation, fingerprint, state, ended, revision, attempt, settled, failures, created_at,
    expires_at, keep_until, due_at, ended_at, model, rerunnable, stop_requested, args, media, lineage, outcome, NULL,
    nullif(former_instances.caller, owners.caller), session_id, parent_id, idempotency_key, locale, traceparent, progress,
    extras, waiting, answer, NULL
  FROM former_instances JOIN owners USING (tenant, owner) ORDER BY former_instances.rowid;

-- This also drops its indexes.
DROP TABLE former_instances;

CREATE UNIQUE INDEX instances_by_id ON instances (id);
CREATE UNIQUE INDEX instances_by_request ON instances (owner, request_id);

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

ALTER TABLE aliases RENAME TO former_aliases;

CREATE TABLE aliases (
  owner INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  session_id TEXT,
  instance_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (owner, request_id)
) STRICT, WITHOUT ROWID;

INSERT INTO aliases
  SELECT ref, request_id, session_id, instance_id, expires_at FROM former_aliases JOIN owners USING (tenant, owner)
  WHERE instance_id IN (SELECT id FROM instances);

DROP TABLE former_aliases;

CREATE INDEX aliases_by_instance ON aliases (instance_id);

-- Entries are added when their calls are removed, which is not the order in which the calls ended.
CREATE INDEX audit_by_end ON audit (ended_at);
