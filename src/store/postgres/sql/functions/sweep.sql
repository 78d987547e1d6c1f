-- The removal of what has outlived its retention, in small pieces. There is no index by expiry: it
-- would cost every settle another index entry. Instead each call goes on through the pages of the
-- table: through all of a small one, through a 60th of a large one, and for a second at most. With
-- a call a minute, what has expired is gone within the hour. On its way it notes what nobody has
-- settled, and drops notes that no record bears out any more. One process at a time; who comes
-- meanwhile has nothing to do.
CREATE OR REPLACE FUNCTION onceguard.sweep(max_rows integer, expiry_paused boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $$
DECLARE
  stride constant bigint := 256;
  hour constant bigint := 3600000;
  notes constant integer := 2000;
  at_ms constant bigint := onceguard.now_ms();
  until constant timestamptz := clock_timestamp() + interval '1 second';
  pages constant bigint := pg_relation_size('onceguard.records')
                           / current_setting('block_size')::bigint;
  left_to_see bigint := least(pages, greatest(2000, pages / 60));
  here bigint;
  last bigint;
  part integer;
  gone integer := 0;
  highest bigint;
  most_gone bigint := 0;
BEGIN
  IF expiry_paused OR max_rows <= 0
     OR NOT pg_try_advisory_xact_lock(hashtextextended('onceguard.sweep', 0)) THEN
    RETURN 0;
  END IF;
  SELECT p.page INTO STRICT here FROM onceguard.sweep_position p;
  WHILE left_to_see > 0 LOOP
    here := CASE WHEN here < pages THEN here ELSE 0 END;
    last := least(here + least(stride, left_to_see), pages);
    -- Rows that somebody works on are left for the next round, and so is what can't be read. Who
    -- claims a key that is being removed does not wait, and gets a token above the raised floor.
    WITH over AS MATERIALIZED (
      SELECT r.ctid AS position, r.digest FROM onceguard.records r
      WHERE r.ctid >= format('(%s,0)', here)::tid AND r.ctid < format('(%s,0)', last)::tid
        AND onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms, false)
        AND onceguard.readable(r)
      LIMIT max_rows - gone FOR UPDATE SKIP LOCKED),
    removed AS (
      DELETE FROM onceguard.records r WHERE r.ctid = ANY (ARRAY(
        SELECT o.position FROM over o
        WHERE pg_try_advisory_xact_lock(onceguard.lock_of(o.digest))))
      RETURNING r.token)
    SELECT count(*), max(d.token) INTO STRICT part, highest FROM removed d;
    INSERT INTO onceguard.attention (digest)
      SELECT r.digest FROM onceguard.records r
      WHERE r.ctid >= format('(%s,0)', here)::tid AND r.ctid < format('(%s,0)', last)::tid
        AND r.state <= 'probing' AND r.deadline_at <= at_ms
      ON CONFLICT DO NOTHING;
    gone := gone + part;
    most_gone := greatest(most_gone, highest);
    EXIT WHEN gone >= max_rows;  -- there may be more in these pages
    left_to_see := left_to_see - (last - here);
    here := last;
    EXIT WHEN clock_timestamp() >= until;
  END LOOP;
  WITH seen AS MATERIALIZED (
    SELECT a.digest FROM onceguard.attention a, onceguard.sweep_position p WHERE a.digest > p.note
    ORDER BY a.digest LIMIT notes),
  dropped AS (
    DELETE FROM onceguard.attention a USING seen s
    WHERE a.digest = s.digest AND NOT EXISTS (
      SELECT FROM onceguard.records r
      WHERE r.digest = s.digest AND (r.state <= 'probing' OR NOT onceguard.readable(r))))
  UPDATE onceguard.sweep_position p SET page = here, note = CASE
    WHEN (SELECT count(*) FROM seen) = notes
    THEN (SELECT s.digest FROM seen s ORDER BY s.digest DESC LIMIT 1) ELSE '' END;
  -- Later tokens of what is gone are larger, also where the clock was set back.
  UPDATE onceguard.meta m SET floor = most_gone WHERE most_gone > m.floor;
  WITH former AS (
    DELETE FROM onceguard.lease_counts c USING onceguard.meta m WHERE c.raises < m.raises - 120
    RETURNING c.leases)
  UPDATE onceguard.meta m SET leases = m.leases + (SELECT sum(f.leases) FROM former f)
  WHERE EXISTS (SELECT FROM former);
  DELETE FROM onceguard.listeners l WHERE l.until < at_ms - hour;
  RETURN gone;
END
$$;
