-- The sweep looks for a second at most, whatever the size of the tables, and goes on from there at
-- the next call. The time layout proves in such pieces that everything in a partition is over, and
-- takes the locks that others meet only after that, until the end of the call, which is near.
--
-- The proof of a partition goes through it in the order of birth, which no update changes while the
-- record stays there. What is over stays over for everybody who looks at the clock from then on: a
-- new life is born elsewhere. Who looked before may still write what was found; hence a piece is
-- judged by an earlier time, of which every transaction that had begun to write has ended. A
-- statement that has looked at the clock begins to write within the ten minutes.

ALTER TABLE onceguard.sweep_hands
  ADD COLUMN proven bigint NOT NULL DEFAULT 0,   -- all that was born until then is over
  ADD COLUMN held bigint NOT NULL DEFAULT 0,     -- how many these are
  ADD COLUMN judged_by bigint,                   -- the time to judge the next piece by
  ADD COLUMN writers_then xid8;                  -- the transactions before this one may have written

DELETE FROM onceguard.sweep_hands h WHERE to_regclass(h.part) IS NULL;  -- of dropped partitions

DROP FUNCTION onceguard.rotate(integer, bigint, boolean);
DROP FUNCTION onceguard.retire_partition(regclass, integer, bigint);
DROP FUNCTION onceguard.move_live(regclass, integer, bigint);
DROP FUNCTION onceguard.sweep_part(regclass, integer, bigint);

CREATE FUNCTION onceguard.sweep_part(part regclass, max_rows integer, at_ms bigint,
                                     until timestamptz) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  stride constant bigint := 256;
  pages bigint := pg_relation_size(part) / current_setting('block_size')::bigint;
  here bigint;
  began bigint;
  left_to_see bigint;
  last bigint;
  gone integer := 0;
BEGIN
  SELECT h.page INTO here FROM onceguard.sweep_hands h WHERE h.part = sweep_part.part::text;
  began := coalesce(here, 0);
  here := CASE WHEN began < pages THEN began ELSE 0 END;
  left_to_see := least(pages, greatest(2000, pages / 60));
  WHILE left_to_see > 0 LOOP
    last := least(here + least(stride, left_to_see), pages);
    gone := gone + onceguard.sweep_pages(part, here, last, max_rows - gone, at_ms);
    EXIT WHEN gone >= max_rows;  -- there may be more in these pages
    left_to_see := left_to_see - (last - here);
    here := CASE WHEN last < pages THEN last ELSE 0 END;
    EXIT WHEN clock_timestamp() >= until;
  END LOOP;
  -- Where the time was not enough, the others have their turn first.
  IF here <> began OR left_to_see > 0 THEN
    INSERT INTO onceguard.sweep_hands AS h (part, page, looked_at)
      VALUES (part::text, here, CASE WHEN left_to_see > 0 THEN at_ms ELSE 0 END)
      ON CONFLICT ON CONSTRAINT sweep_hands_pkey
      DO UPDATE SET page = excluded.page, looked_at = excluded.looked_at;
  END IF;
  RETURN gone;
END
$$;

-- Moves what is live among the records of an old partition that were born in (after, last] to
-- where records are born now; how many went. A record that somebody works on stays for another time.
CREATE FUNCTION onceguard.move_live(part regclass, after bigint, last bigint, max_rows integer,
                                    at_ms bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  of_digest bytea;
  was onceguard.records;
  r onceguard.records;
  moved integer := 0;
BEGIN
  FOR of_digest IN EXECUTE format('SELECT r.digest FROM %s r WHERE r.born > $1 AND r.born <= $2
      AND NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, $3, false) LIMIT $4', part)
    USING after, last, at_ms, max_rows
  LOOP
    CONTINUE WHEN NOT pg_try_advisory_xact_lock(onceguard.lock_of(of_digest));
    was := onceguard.look_up(of_digest);
    CONTINUE WHEN was.digest IS NULL OR NOT onceguard.readable(was);
    r := was;
    r.born := onceguard.birth(at_ms, was.born);
    IF onceguard.put(was, r) THEN
      moved := moved + 1;
    END IF;
  END LOOP;
  RETURN moved;
END
$$;

-- One piece of a partition: what lies next behind the hand. kept: not proven to be over.
CREATE FUNCTION onceguard.look_at_piece(part regclass, after bigint, at_ms bigint,
                                        judged_by bigint,
                                        OUT last bigint, OUT held bigint, OUT kept bigint,
                                        OUT lives bigint, OUT unreadable bigint,
                                        OUT mostly_over bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  size constant integer := 5000;
BEGIN
  EXECUTE format($piece$
    SELECT max(p.born), count(*), count(*) FILTER (WHERE NOT p.over OR NOT p.readable),
           count(*) FILTER (WHERE p.live), count(*) FILTER (WHERE NOT p.readable),
           percentile_disc(0.9) WITHIN GROUP (ORDER BY p.expires_at)
             FILTER (WHERE p.expires_at > 0)
    FROM (SELECT r.born, r.expires_at,
                 NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, $2, false) AS live,
                 onceguard.expired(r.state, r.deadline_at, r.expires_at, $3, false) AS over,
                 onceguard.readable(r::onceguard.records) AS readable
          FROM %s r WHERE r.born > $1 ORDER BY r.born LIMIT $4) p
    $piece$, part)
  INTO last, held, kept, lives, unreadable, mostly_over USING after, at_ms, judged_by, size;
END
$$;

-- Whether everything in a partition whose time is over is proven to be over too.
CREATE FUNCTION onceguard.prove_partition(part regclass, max_rows integer, at_ms bigint,
                                          until timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  grace constant bigint := 600000;
  step bigint;
  h onceguard.sweep_hands;
  piece record;
  went integer;
  moved integer := 0;
  done boolean := false;
BEGIN
  SELECT m.partition_length INTO STRICT step FROM onceguard.meta m;
  INSERT INTO onceguard.sweep_hands VALUES (part::text, 0, 0) ON CONFLICT DO NOTHING;
  SELECT * INTO STRICT h FROM onceguard.sweep_hands s WHERE s.part = prove_partition.part::text;
  -- The clock went back, and some may be born behind the hand; or this is a copy on another server.
  IF at_ms < h.judged_by OR pg_snapshot_xmax(pg_current_snapshot()) < h.writers_then THEN
    h.proven := 0;
    h.held := 0;
  ELSIF pg_snapshot_xmin(pg_current_snapshot()) < h.writers_then THEN
    RETURN false;
  ELSIF h.judged_by IS NOT NULL THEN
    LOOP
      piece := onceguard.look_at_piece(part, h.proven, at_ms, h.judged_by - grace);
      done := piece.held = 0;
      EXIT WHEN done;
      IF piece.kept = 0 THEN
        h.proven := piece.last;
        h.held := h.held + piece.held;
      ELSIF at_ms < coalesce(piece.mostly_over, 0) THEN
        h.looked_at := least(piece.mostly_over, at_ms + step);
        EXIT;
      ELSIF piece.unreadable > 0 OR piece.lives > greatest(piece.held / 10, 1000) THEN
        h.looked_at := at_ms + step;
        EXIT;
      ELSE  -- what is left moves; the rest of the piece is looked at again
        went := onceguard.move_live(part, h.proven, piece.last, max_rows - moved, at_ms);
        moved := moved + went;
        EXIT WHEN went = 0;
      END IF;
      EXIT WHEN clock_timestamp() >= until;
    END LOOP;
  END IF;
  UPDATE onceguard.sweep_hands s
    SET looked_at = h.looked_at, proven = h.proven, held = h.held, judged_by = at_ms,
        writers_then = pg_snapshot_xmax(pg_current_snapshot())
    WHERE s.part = prove_partition.part::text;
  RETURN done;
END
$$;

-- Partitions behind (an hour, so that what runs may settle), and those ahead. How many rows went
-- with them, below max_rows.
CREATE FUNCTION onceguard.rotate(max_rows integer, at_ms bigint, expiry_paused boolean,
                                 until timestamptz) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  step bigint;
  begins bigint;
  one regclass;
  name text;
  finished regclass[] := '{}';
  gone bigint := 0;
BEGIN
  SELECT m.partition_length INTO STRICT step FROM onceguard.meta m;
  IF expiry_paused THEN  -- the clock may have gone back
    UPDATE onceguard.sweep_hands SET proven = 0, held = 0 WHERE proven > 0;
  ELSE
    FOR one IN
      SELECT c.oid::regclass
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      LEFT JOIN onceguard.sweep_hands h ON h.part = c.oid::regclass::text
      WHERE i.inhparent = 'onceguard.records'::regclass
        AND c.oid <> 'onceguard.records_rest'::regclass AND coalesce(h.looked_at, 0) <= at_ms
        AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint
            <= (at_ms - least(step, 3600000)) << 20
      ORDER BY c.oid
    LOOP
      IF onceguard.prove_partition(one, max_rows, at_ms, until) THEN
        finished := finished || one;
      END IF;
      EXIT WHEN clock_timestamp() >= until;
    END LOOP;
  END IF;
  FOREACH one IN ARRAY finished LOOP
    name := one::text;
    EXIT WHEN NOT onceguard.drop_partition(one);
    DELETE FROM onceguard.sweep_hands h WHERE h.part = name RETURNING gone + h.held INTO gone;
  END LOOP;
  FOR ahead IN 0 .. 3 LOOP
    begins := (at_ms / step + ahead) * step;
    PERFORM onceguard.add_partition(begins, begins + step);
  END LOOP;
  RETURN least(gone, max_rows - 1);
END
$$;

-- One process at a time; whoever comes meanwhile has nothing to do.
CREATE OR REPLACE FUNCTION onceguard.sweep(max_rows integer, expiry_paused boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  until timestamptz := clock_timestamp() + interval '1 second';
  by_time boolean;
  part regclass;
  gone integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock('onceguard.sweep_hands'::regclass::oid::bigint) THEN
    RETURN 0;
  END IF;
  SELECT m.layout LIKE 'time%' INTO STRICT by_time FROM onceguard.meta m;
  IF by_time THEN
    gone := onceguard.rotate(max_rows, at_ms, expiry_paused, until);
  END IF;
  IF expiry_paused THEN
    RETURN gone;
  END IF;
  FOR part IN
    SELECT p FROM onceguard.parts() p LEFT JOIN onceguard.sweep_hands h ON h.part = p::text
    WHERE NOT by_time OR p = to_regclass('onceguard.records_rest')
    ORDER BY coalesce(h.looked_at, 0), p::oid
  LOOP
    gone := gone + onceguard.sweep_part(part, max_rows - gone, at_ms, until);
    EXIT WHEN gone >= max_rows OR clock_timestamp() >= until;
  END LOOP;
  RETURN gone;
END
$$;

-- As before, and whatever begins to live again is born anew here, for all who write: also what was
-- released and is completed late, and what has not expired for a caller whose expiry is paused.
CREATE OR REPLACE FUNCTION onceguard.put(was onceguard.records, r onceguard.records)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  written bigint;
  at_ms bigint;
BEGIN
  IF was.expires_at > 0 AND r.born = was.born THEN
    at_ms := onceguard.now_ms();
    r.born := onceguard.born_again(
      was, onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms, false)
           AND NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms, false), at_ms);
  END IF;
  r.format := 1;
  r.checksum := onceguard.checksum_of(r);
  IF was.digest IS NULL THEN
    INSERT INTO onceguard.records SELECT r.* ON CONFLICT DO NOTHING;
  ELSE
    UPDATE onceguard.records t SET
      born = r.born, token = r.token, deadline_at = r.deadline_at, retry_at = r.retry_at,
      claimed_at = r.claimed_at, settled_at = r.settled_at, expires_at = r.expires_at,
      unknown_retention = r.unknown_retention, run_timeout = r.run_timeout,
      checksum = r.checksum, attempt = r.attempt, failures = r.failures, format = r.format,
      state = r.state, why = r.why, why_status = r.why_status, kept = r.kept,
      status = r.status, by_operator = r.by_operator, by_application = r.by_application,
      incident = r.incident, earlier_unknown = r.earlier_unknown,
      maybe_repeated = r.maybe_repeated, nonce = r.nonce, scope = r.scope,
      scope_kind = r.scope_kind, key = r.key, method = r.method, path = r.path,
      route = r.route, print_method = r.print_method, print = r.print, headers = r.headers,
      body = r.body, step = r.step, progress = r.progress
    WHERE t.digest = was.digest AND t.born = was.born AND t.token = was.token
      AND t.nonce = was.nonce AND t.state = was.state AND t.checksum = was.checksum;
  END IF;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written = 1;
END
$$;

REVOKE ALL ON FUNCTION
  onceguard.sweep_part(regclass, integer, bigint, timestamptz),
  onceguard.move_live(regclass, bigint, bigint, integer, bigint),
  onceguard.look_at_piece(regclass, bigint, bigint, bigint),
  onceguard.prove_partition(regclass, integer, bigint, timestamptz),
  onceguard.rotate(integer, bigint, boolean, timestamptz) FROM PUBLIC;
