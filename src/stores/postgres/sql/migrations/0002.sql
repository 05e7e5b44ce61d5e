-- needs: 1
-- What the other nodes may know of a node: JSON. Nodes of version 1 leave it empty.
ALTER TABLE {schema}.nodes ADD COLUMN about text NOT NULL DEFAULT '{}';
