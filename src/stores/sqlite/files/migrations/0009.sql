-- 1 if a caller was told of the call before its end.
ALTER TABLE instances ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
