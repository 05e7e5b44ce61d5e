-- Entries of the trail are written in the order in which calls ended, so that the oldest are the first rows: an index on
-- the time cost every call a write for what a purge finds without it.
DROP INDEX audit_by_end;
