-- Counts commits. A file beside the database has the number of the last acknowledged commit, so that a start can check
-- that the database still has them all.

CREATE TABLE commits (
  -- Identifies this database, because the file beside it may belong to another one.
  database BLOB NOT NULL,
  number INTEGER NOT NULL,
  -- The time of the last commit.
  at INTEGER NOT NULL
) STRICT;

INSERT INTO commits VALUES (randomblob(16), 0, 0);
