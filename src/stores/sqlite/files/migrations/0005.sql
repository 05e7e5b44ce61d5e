-- Who called is kept once per owner instead of in every call, and a call's entry in the trail lies in its own row until
-- it goes: what is written twice for every call was half of what a durable call cost.

CREATE TABLE owners (
  ref INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  -- As it called once; a call of its that came otherwise has its own.
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

INSERT INTO instances
  SELECT id, ref, request_id, operation, fingerprint, state, ended, revision, attempt, settled, failures, created_at,
    expires_at, keep_until, due_at, ended_at, model, rerunnable, stop_requested, args, media, lineage, outcome, NULL,
    nullif(former_instances.caller, owners.caller), session_id, parent_id, idempotency_key, locale, traceparent, progress,
    extras, waiting, answer, NULL
  FROM former_instances JOIN owners USING (tenant, owner) ORDER BY former_instances.rowid;

-- Its indexes go with it.
DROP TABLE former_instances;

CREATE UNIQUE INDEX instances_by_id ON instances (id);
CREATE UNIQUE INDEX instances_by_request ON instances (owner, request_id);

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

-- Entries come here when their calls go, no longer in the order in which those ended.
CREATE INDEX audit_by_end ON audit (ended_at);
