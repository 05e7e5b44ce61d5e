-- Counts commits. A file beside the database has the number of the last acknowledged one, so that a start finds out
-- whether the database still has them all.

CREATE TABLE commits (
  -- Names this database: the file beside another one says nothing about it.
  database BLOB NOT NULL,
  number INTEGER NOT NULL,
  -- When the last one was made.
  at INTEGER NOT NULL
) STRICT;

INSERT INTO commits VALUES (randomblob(16), 0, 0);
