-- For operators: listing calls, and the history of their attempts. Most calls succeed at their first attempt. They have
-- none of these values, so they are in none of these indexes.

-- The kind and the code of the fault that ended the call.
ALTER TABLE instances ADD COLUMN fault_kind TEXT;
ALTER TABLE instances ADD COLUMN fault_code TEXT;
-- The call whose handler made this one, and the call that this one repeats for an operator.
ALTER TABLE instances ADD COLUMN called_by TEXT;
ALTER TABLE instances ADD COLUMN replay_of TEXT;
-- When a worker last took the call. Absent if the call was started when it was accepted.
ALTER TABLE instances ADD COLUMN begun_at INTEGER;
-- The attempts that did not end the call: JSON objects, separated by commas.
ALTER TABLE instances ADD COLUMN past TEXT;

UPDATE instances SET fault_kind = outcome ->> '$.fault.kind', fault_code = outcome ->> '$.fault.code'
  WHERE state = 'error' AND outcome IS NOT NULL;

CREATE INDEX instances_failed ON instances (id)
  WHERE fault_kind IS NOT NULL;
CREATE INDEX instances_by_parent ON instances (called_by, id)
  WHERE called_by IS NOT NULL;
CREATE INDEX instances_by_replayed ON instances (replay_of, id)
  WHERE replay_of IS NOT NULL;
