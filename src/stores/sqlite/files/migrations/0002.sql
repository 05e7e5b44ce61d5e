-- Small values by key, such as people's authorizations.

CREATE TABLE records (
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX records_by_expiry ON records (expires_at)
  WHERE expires_at IS NOT NULL;
