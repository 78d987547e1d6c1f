-- The time layout: a partition for each stretch of time in which records are first claimed, made
-- ahead of it, and dropped whole when nothing in it is live. What no partition was made for lies
-- in records_rest, and is found and swept there.
--
-- Attaching and dropping need a lock on the parent for a moment. They wait for it 50 ms at most
-- (whoever comes after them waits as long), and are tried again at the next sweep.

CREATE FUNCTION onceguard.add_partition(begins bigint, ends bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET lock_timeout = '50ms' AS $$
DECLARE
  name text := 'records_' || to_char(to_timestamp(begins / 1000.0) AT TIME ZONE 'UTC',
                                     'YYYYMMDD_HH24MI');
BEGIN
  IF to_regclass('onceguard.' || name) IS NOT NULL OR EXISTS (
       SELECT FROM onceguard.records_rest r WHERE r.born >= begins << 20 AND r.born < ends << 20)
  THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE onceguard.%I (LIKE onceguard.records INCLUDING ALL)
                  WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05)', name);
  EXECUTE format('ALTER TABLE onceguard.records ATTACH PARTITION onceguard.%I
                  FOR VALUES FROM (%s) TO (%s)', name, begins << 20, ends << 20);
EXCEPTION
  WHEN lock_not_available OR check_violation THEN NULL;  -- next time
END
$$;

CREATE FUNCTION onceguard.drop_partition(part regclass) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET lock_timeout = '50ms' AS $$
BEGIN
  EXECUTE format('DROP TABLE %s', part);
  RETURN true;
EXCEPTION
  WHEN lock_not_available THEN RETURN false;
END
$$;

-- Moves what is live in an old partition to where records are born now. A record that somebody
-- works on stays for the next time.
CREATE FUNCTION onceguard.move_live(part regclass, max_rows integer, at_ms bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  of_digest bytea;
  was onceguard.records;
  r onceguard.records;
BEGIN
  FOR of_digest IN EXECUTE format('SELECT r.digest FROM %s r WHERE NOT onceguard.expired(
      r.state, r.deadline_at, r.expires_at, $1, false) LIMIT $2', part) USING at_ms, max_rows
  LOOP
    CONTINUE WHEN NOT pg_try_advisory_xact_lock(onceguard.lock_of(of_digest));
    was := onceguard.look_up(of_digest);
    CONTINUE WHEN was.digest IS NULL OR NOT onceguard.readable(was);
    r := was;
    r.born := onceguard.birth(at_ms, was.born);
    PERFORM onceguard.put(was, r);
  END LOOP;
END
$$;

-- Judges a partition whose time is over. Nothing in it becomes live again once it has expired: a
-- new life is born elsewhere. The ten minutes are for transactions that looked before.
CREATE FUNCTION onceguard.retire_partition(part regclass, max_rows integer, at_ms bigint)
RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  grace constant bigint := 600000;
  step bigint;
  held bigint;
  lives bigint;
  doubtful bigint;
  mostly_over bigint;
  unreadable boolean := false;
  next_look bigint;
BEGIN
  EXECUTE format('SELECT count(*),
      count(*) FILTER (WHERE NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, $1,
                                                   false)),
      count(*) FILTER (WHERE NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, $2,
                                                   false)),
      percentile_disc(0.9) WITHIN GROUP (ORDER BY r.expires_at) FILTER (WHERE r.expires_at > 0)
    FROM %s r', part)
  INTO held, lives, doubtful, mostly_over USING at_ms, at_ms - grace;
  IF doubtful = 0 THEN
    EXECUTE format('SELECT EXISTS (SELECT FROM %s r
                                   WHERE NOT onceguard.readable(r::onceguard.records))', part)
    INTO unreadable;
    IF NOT unreadable AND onceguard.drop_partition(part) THEN
      DELETE FROM onceguard.sweep_hands h WHERE h.part = retire_partition.part::text;
      RETURN held;
    END IF;
  END IF;
  SELECT m.partition_length INTO STRICT step FROM onceguard.meta m;
  IF unreadable OR lives > greatest(held / 10, 1000) AND at_ms >= coalesce(mostly_over, 0) THEN
    next_look := at_ms + step;
  ELSIF at_ms < coalesce(mostly_over, 0) THEN
    next_look := least(mostly_over, at_ms + step);
  ELSE  -- what is left moves, and it is looked at again soon
    PERFORM onceguard.move_live(part, max_rows, at_ms);
    next_look := at_ms;
  END IF;
  INSERT INTO onceguard.sweep_hands AS h VALUES (part::text, 0, next_look)
    ON CONFLICT ON CONSTRAINT sweep_hands_pkey DO UPDATE SET looked_at = excluded.looked_at;
  RETURN 0;
END
$$;

-- Partitions ahead, and those behind (an hour, so that what runs may settle). How many rows went
-- with them, below max_rows.
CREATE FUNCTION onceguard.rotate(max_rows integer, at_ms bigint, expiry_paused boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  step bigint;
  begins bigint;
  part regclass;
  gone bigint := 0;
BEGIN
  SELECT m.partition_length INTO STRICT step FROM onceguard.meta m;
  FOR ahead IN 0 .. 3 LOOP
    begins := (at_ms / step + ahead) * step;
    PERFORM onceguard.add_partition(begins, begins + step);
  END LOOP;
  IF expiry_paused THEN
    RETURN 0;
  END IF;
  FOR part IN
    SELECT c.oid::regclass
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    LEFT JOIN onceguard.sweep_hands h ON h.part = c.oid::regclass::text
    WHERE i.inhparent = 'onceguard.records'::regclass
      AND c.oid <> 'onceguard.records_rest'::regclass AND coalesce(h.looked_at, 0) <= at_ms
      AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint
          <= (at_ms - least(step, 3600000)) << 20
    ORDER BY c.oid
  LOOP
    gone := gone + onceguard.retire_partition(part, max_rows, at_ms);
  END LOOP;
  RETURN least(gone, max_rows - 1);
END
$$;

-- The first partitions, where this is the layout.
DO $$
BEGIN
  PERFORM onceguard.rotate(1, onceguard.now_ms(), true) FROM onceguard.meta m
  WHERE m.layout LIKE 'time%';
END
$$;
