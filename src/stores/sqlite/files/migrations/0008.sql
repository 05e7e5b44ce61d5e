-- Due calls are handed out caller by caller, so they are found by caller first.
DROP INDEX instances_due;
CREATE INDEX instances_due ON instances (owner, operation, due_at)
  WHERE due_at IS NOT NULL;
