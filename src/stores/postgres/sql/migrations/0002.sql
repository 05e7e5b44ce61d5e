-- needs: 1
-- What the other nodes may know of a node: JSON. Nodes of version 1 leave it empty.
ALTER TABLE {schema}.nodes ADD COLUMN about text NOT NULL DEFAULT '{}';

-- The slots of operations with a concurrency limit. The row of an operation is locked while its slots change hands.
CREATE TABLE {schema}.slot_books (
  operation text COLLATE "C" PRIMARY KEY,
  -- The place of the node that came last into the queue.
  turns bigint NOT NULL
);
-- The slots of one node. Only this node changes the row. Others remove it when the node is dead.
CREATE TABLE {schema}.slots (
  operation text COLLATE "C" NOT NULL,
  node integer NOT NULL,
  -- Numbers the node's requests: a late statement does not undo a newer one, and a repeated one changes nothing.
  step bigint NOT NULL,
  held integer NOT NULL,
  -- Its place in the queue for the next slot. NULL: it does not wait.
  turn bigint,
  -- When others found that the node is not among the living ones. It may come back soon under another number.
  missing_since bigint,
  PRIMARY KEY (operation, node)
) WITH (fillfactor = 50);

-- For each operation: the node has some slots and wants more. Returns how many it gets, whether others wait, whether
-- others have slots, and the nodes that should look again. Without a row in nodes, it does nothing.
-- Every statement of the loop sees what was committed before the operation's row was locked.
CREATE FUNCTION {schema}.share_slots(
  me integer, before integer, now_ms bigint, grace_ms integer,
  operations text[], request_steps bigint[], mosts integer[], has integer[], wants integer[], recalls boolean[]
) RETURNS TABLE (place integer, granted integer, contested boolean, elsewhere boolean, hints integer[], alive_until bigint)
LANGUAGE plpgsql AS $$
DECLARE
  mine record;
  others record;
  last bigint;
  my_turn bigint;
  spare integer;
  given integer := 0;
BEGIN
  SELECT n.alive_until INTO alive_until FROM {schema}.nodes n WHERE n.node = me;
  IF NOT FOUND THEN RETURN; END IF;
  FOR number IN 1 .. cardinality(operations) LOOP
    place := number;
    INSERT INTO {schema}.slot_books VALUES (operations[place], 0) ON CONFLICT DO NOTHING;
    SELECT b.turns INTO last FROM {schema}.slot_books b WHERE b.operation = operations[place] FOR UPDATE;
    IF before IS NOT NULL THEN
      DELETE FROM {schema}.slots s WHERE s.operation = operations[place] AND s.node = before;
    END IF;
    SELECT s.step, s.held, s.turn INTO mine FROM {schema}.slots s
      WHERE s.operation = operations[place] AND s.node = me;
    PERFORM {schema}.drop_slots_of_dead(operations[place], me, now_ms, grace_ms);
    my_turn := CASE WHEN wants[place] > 0 THEN mine.turn END;
    SELECT coalesce(sum(s.held), 0)::integer AS held, count(s.turn)::integer AS waiting,
        (count(*) FILTER (WHERE s.turn < coalesce(my_turn, s.turn + 1)))::integer AS ahead
      INTO others FROM {schema}.slots s WHERE s.operation = operations[place] AND s.node <> me;
    spare := mosts[place] - others.held - has[place];
    IF mine.step >= request_steps[place] THEN
      granted := CASE WHEN mine.step = request_steps[place] THEN greatest(0, mine.held - has[place]) ELSE 0 END;
      spare := spare - granted;
    ELSE
      granted := greatest(0, least(spare - others.ahead, CASE WHEN others.waiting = 0 THEN wants[place] ELSE 1 END,
        wants[place]));
      spare := spare - granted;
      IF granted >= wants[place] THEN
        my_turn := NULL;
      ELSIF granted > 0 OR my_turn IS NULL THEN
        my_turn := last + 1;
        UPDATE {schema}.slot_books b SET turns = my_turn WHERE b.operation = operations[place];
      END IF;
      INSERT INTO {schema}.slots AS s (operation, node, step, held, turn)
        VALUES (operations[place], me, request_steps[place], has[place] + granted, my_turn)
        ON CONFLICT (operation, node) DO UPDATE
        SET step = excluded.step, held = excluded.held, turn = excluded.turn, missing_since = NULL;
    END IF;
    given := given + granted;
    contested := others.waiting > 0;
    elsewhere := others.held > 0;
    hints := ARRAY(SELECT s.node FROM {schema}.slots s
      WHERE s.operation = operations[place] AND s.node <> me AND s.turn IS NOT NULL
      ORDER BY s.turn LIMIT greatest(0, spare));
    IF recalls[place] AND my_turn IS NOT NULL THEN
      hints := hints || ARRAY(SELECT s.node FROM {schema}.slots s
        WHERE s.operation = operations[place] AND s.node <> me AND s.held > 0);
    END IF;
    RETURN NEXT;
  END LOOP;
  -- A lost change that gives nothing is corrected by the next one, so it need not wait for the disk.
  IF given = 0 THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
END $$;

-- The slots of a node that is missing stay taken for a while: after an outage of the database, living nodes were taken
-- for dead, and have to say first what they run.
CREATE FUNCTION {schema}.drop_slots_of_dead(looked_at text, me integer, now_ms bigint, grace_ms integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM {schema}.slots s WHERE s.operation = looked_at AND s.node <> me AND s.missing_since <= now_ms - grace_ms
    AND NOT EXISTS (SELECT FROM {schema}.nodes n WHERE n.node = s.node AND n.alive_until >= now_ms);
  UPDATE {schema}.slots s SET missing_since = CASE WHEN s.missing_since IS NULL THEN now_ms END
    WHERE s.operation = looked_at AND s.node <> me AND (s.missing_since IS NULL) <>
      EXISTS (SELECT FROM {schema}.nodes n WHERE n.node = s.node AND n.alive_until >= now_ms);
END $$;

-- Token buckets of callers. After a crash of the database they are full again.
CREATE UNLOGGED TABLE {schema}.buckets (
  key uuid PRIMARY KEY,
  -- When the bucket is full again, in milliseconds.
  full_at double precision NOT NULL
) WITH (fillfactor = 50);

-- For each bucket: gives tokens back, takes those that are needed, and up to half of the rest for later.
CREATE FUNCTION {schema}.take_tokens(
  now_ms bigint, keys uuid[], capacities integer[], nanoseconds bigint[], backs integer[], needs integer[], extras integer[]
) RETURNS TABLE (place integer, granted integer, wait_ms double precision)
LANGUAGE plpgsql AS $$
DECLARE
  was double precision;
  full_then double precision;
  per_token double precision;
  room integer;
BEGIN
  FOR number IN 1 .. cardinality(keys) LOOP
    place := number;
    per_token := nanoseconds[place] / 1000000.0;
    SELECT b.full_at INTO was FROM {schema}.buckets b WHERE b.key = keys[place] FOR UPDATE;
    IF NOT FOUND THEN
      INSERT INTO {schema}.buckets VALUES (keys[place], now_ms) ON CONFLICT DO NOTHING;
      SELECT b.full_at INTO was FROM {schema}.buckets b WHERE b.key = keys[place] FOR UPDATE;
    END IF;
    full_then := greatest(was - backs[place] * per_token, now_ms);
    -- Half a millisecond for the rounding of sums.
    room := greatest(0, floor((capacities[place] * per_token + 0.5 - (full_then - now_ms)) / per_token))::integer;
    granted := least(needs[place], room);
    granted := granted + least(extras[place], (room - granted) / 2);
    full_then := full_then + granted * per_token;
    wait_ms := greatest(0, full_then - now_ms + per_token - capacities[place] * per_token);
    UPDATE {schema}.buckets b SET full_at = full_then WHERE b.key = keys[place];
    RETURN NEXT;
  END LOOP;
END $$;
