-- The removal of what has outlived its retention, a few rows at a time.
--
-- There is no index by expiry: it would cost every settle three more index entries (an update of
-- an indexed column can't stay within its page). Instead a hand goes through the pages of each
-- table: through all of a small one at each call, through a 60th of a large one. With a call a
-- minute, what has expired is gone within the hour.

CREATE TABLE onceguard.sweep_hands (
  part text PRIMARY KEY,         -- the table or partition
  page bigint NOT NULL,          -- where the next call goes on
  looked_at bigint NOT NULL      -- time layout: not judged again before this
);

-- The tables that hold rows: the one, or its partitions.
CREATE FUNCTION onceguard.parts() RETURNS SETOF regclass
LANGUAGE sql STABLE AS $$
  SELECT c.oid::regclass FROM pg_class c
  WHERE c.oid = 'onceguard.records'::regclass AND c.relkind = 'r'
  UNION ALL
  SELECT i.inhrelid::regclass FROM pg_inherits i
  WHERE i.inhparent = 'onceguard.records'::regclass
$$;

-- Deletes what has expired in the pages [first, last), up to max_rows. Rows that somebody works
-- on are left for the next round, and so is what this version can't read.
CREATE FUNCTION onceguard.sweep_pages(part regclass, first bigint, last bigint, max_rows integer,
                                      at_ms bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  gone integer;
BEGIN
  EXECUTE format($sweep$
    WITH over AS MATERIALIZED (
      SELECT r.ctid AS place, r.digest FROM %1$s r
      WHERE r.ctid >= '(%2$s,0)' AND r.ctid < '(%3$s,0)' AND r.expires_at > 0
        AND onceguard.expired(r.state, r.deadline_at, r.expires_at, $1, false)
        AND onceguard.readable(r::onceguard.records)
      LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM %1$s r WHERE r.ctid = ANY (ARRAY(
      SELECT o.place FROM over o WHERE pg_try_advisory_xact_lock(onceguard.lock_of(o.digest))))
    $sweep$, part, first, last)
  USING at_ms, max_rows;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END
$$;

CREATE FUNCTION onceguard.sweep_part(part regclass, max_rows integer, at_ms bigint)
RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  stride constant bigint := 256;
  pages bigint := pg_relation_size(part) / current_setting('block_size')::bigint;
  here bigint;
  began bigint;
  left_to_see bigint;
  last bigint;
  taken integer;
  gone integer := 0;
BEGIN
  SELECT h.page INTO here FROM onceguard.sweep_hands h WHERE h.part = sweep_part.part::text;
  began := coalesce(here, 0);
  here := CASE WHEN began < pages THEN began ELSE 0 END;
  left_to_see := least(pages, greatest(2000, pages / 60));
  WHILE left_to_see > 0 AND gone < max_rows LOOP
    last := least(here + least(stride, left_to_see), pages);
    taken := onceguard.sweep_pages(part, here, last, max_rows - gone, at_ms);
    gone := gone + taken;
    EXIT WHEN gone >= max_rows;  -- there may be more in these pages
    left_to_see := left_to_see - (last - here);
    here := CASE WHEN last < pages THEN last ELSE 0 END;
  END LOOP;
  IF here <> began THEN
    INSERT INTO onceguard.sweep_hands AS h VALUES (part::text, here, 0)
      ON CONFLICT ON CONSTRAINT sweep_hands_pkey DO UPDATE SET page = excluded.page;
  END IF;
  RETURN gone;
END
$$;

-- One process at a time; whoever comes meanwhile has nothing to do.
CREATE FUNCTION onceguard.sweep(max_rows integer, expiry_paused boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  by_time boolean;
  part regclass;
  gone integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock('onceguard.sweep_hands'::regclass::oid::bigint) THEN
    RETURN 0;
  END IF;
  SELECT m.layout LIKE 'time%' INTO STRICT by_time FROM onceguard.meta m;
  IF by_time THEN
    gone := onceguard.rotate(max_rows, at_ms, expiry_paused);
  END IF;
  IF expiry_paused THEN
    RETURN gone;
  END IF;
  FOR part IN SELECT p FROM onceguard.parts() p ORDER BY p::oid LOOP
    CONTINUE WHEN by_time AND part::text <> 'onceguard.records_rest';
    gone := gone + onceguard.sweep_part(part, max_rows - gone, at_ms);
    EXIT WHEN gone >= max_rows;
  END LOOP;
  RETURN gone;
END
$$;
