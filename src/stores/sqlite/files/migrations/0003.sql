-- Calls with their own limits, calls that wait for an answer from outside, and the audit trail.

-- Fields that few calls have, as JSON, such as the ids of the tokens that came with a call.
ALTER TABLE instances ADD COLUMN extras TEXT;
ALTER TABLE instances ADD COLUMN ended_at INTEGER;
ALTER TABLE instances ADD COLUMN waiting TEXT;
ALTER TABLE instances ADD COLUMN answer TEXT;

CREATE TABLE audit (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  operation TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  entry TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX audit_by_id ON audit (tenant, id);
CREATE INDEX audit_by_end ON audit (ended_at);
