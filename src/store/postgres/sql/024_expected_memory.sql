-- A claim says whose memory it expects, and how far that had come: where it meets another, or an
-- older copy, nothing is granted. Before, who looked each second noticed it up to a second late.

-- generation: of a lease, what this database counts with it; it is as durable as the lease.
CREATE TYPE onceguard.claim_told AS (
  item integer, problem smallint, verdict smallint,
  token bigint, attempt integer, probe boolean, started boolean,
  status smallint, headers bytea[], body bytea, kept smallint,
  retry_after bigint, retention_left bigint, since bigint,
  why smallint, why_status smallint, print_method bytea,
  generation bigint
);

-- As before, and: known_identity and known_generation are what vitals() told; null: whatever they
-- are now.
CREATE FUNCTION onceguard.claim_batch(items onceguard.claim_item[], expiry_paused boolean,
                                      known_identity text, known_generation bigint)
RETURNS SETOF onceguard.claim_told
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 64
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  base bigint;
  memory text;
  given bigint;
  by_time boolean;
  repeats_first boolean;
  locked bigint[];   -- by_time: places of the items whose locks were got
  tokens bigint[];   -- of the first leases, in the order of their items
  firsts integer[];  -- places of those items; null: all of them
  places integer[] := '{}';  -- of all that are answered
  told onceguard.claim_answer[];
BEGIN
  SELECT b.last_value, m.layout LIKE 'time%',
         EXISTS (SELECT FROM onceguard.records r WHERE r.digest = (items[1]).digest),
         m.identity, t.last_value + t.is_called::integer
    INTO STRICT base, by_time, repeats_first, memory, given
  FROM onceguard.token_base b, onceguard.meta m, onceguard.tokens t;

  -- In one statement with the look at the records, whose lock was got before its snapshot was
  -- taken: who empties them has changed the identity by then, or waits for the end of this batch.
  IF memory <> known_identity OR given < known_generation THEN
    RAISE 'onceguard: the database does not hold the memory that this process knows'
      USING ERRCODE = 'OG003';
  END IF;

  IF by_time THEN
    PERFORM onceguard.check_isolation('time');
  END IF;

  -- What comes together is mostly of one kind: begin with that of the first one.
  IF repeats_first THEN
    told := onceguard.claim_repeats(items, places, at_ms, expiry_paused);
    RETURN QUERY SELECT t.*, NULL::bigint FROM unnest(told) AS t;
    IF cardinality(told) = cardinality(items) THEN
      RETURN;
    END IF;
    SELECT coalesce(array_agg(t.item), '{}') INTO places FROM unnest(told) AS t;
  END IF;

  IF by_time THEN
    -- No unique index says that a row is there: look only after the lock, with a new snapshot.
    SELECT array_agg(absent.ordinality) INTO locked
    FROM (SELECT i.* FROM unnest(items) WITH ORDINALITY AS i
          WHERE i.ordinality <> ALL (places)
            AND NOT EXISTS (SELECT FROM onceguard.records r WHERE r.digest = i.digest)
          OFFSET 0) absent
    WHERE pg_try_advisory_xact_lock(onceguard.lock_of(absent.digest));
  END IF;

  IF NOT by_time OR locked IS NOT NULL THEN
    BEGIN
      -- From the inside out, each step kept apart (OFFSET 0) so that none is done for more items
      -- than it is meant for: absent, locked, numbered, whole.
      WITH inserted AS (
        INSERT INTO onceguard.records (
          born, token, deadline_at, retry_at, claimed_at, settled_at, expires_at,
          unknown_retention, run_timeout, attempt, failures, format, state, why, why_status,
          kept, status, by_operator, by_application, incident, earlier_unknown, maybe_repeated,
          digest, nonce, scope, scope_kind, key, method, path, route, print_method, print,
          headers, body, step, progress, checksum)
        SELECT
          f.born, f.token, f.deadline_at, 0, at_ms, 0, f.expires_at,
          f.unknown_retention, f.run_timeout, 1, 0, 1, f.state, 0, 0,
          4, NULL, false, false, false, false, f.maybe_repeated,
          f.digest, f.nonce, f.scope, f.scope_kind, f.key, f.method, f.path, f.route,
          f.print_method, f.print, NULL, NULL, NULL, NULL,
          hash_record_extended(ROW(
            f.born, f.token, f.deadline_at, 0::bigint, at_ms, 0::bigint, f.expires_at,
            f.unknown_retention, f.run_timeout, 1, 0, 1::smallint, f.state, 0::smallint,
            0::smallint, 4::smallint, NULL::smallint, false, false, false,
            false, f.maybe_repeated, f.digest, f.nonce, f.scope, f.scope_kind, f.key,
            f.method, f.path, f.route, f.print_method, f.print, NULL::bytea[], NULL::bytea,
            NULL::text, NULL::bytea), 0)
        FROM (
          SELECT n.*, onceguard.birth(at_ms, n.number) AS born, base + n.number AS token,
                 at_ms + n.lease AS deadline_at,
                 CASE WHEN n.unknown_retention = 0 THEN 0
                      ELSE at_ms + n.lease + n.unknown_retention END AS expires_at,
                 CASE WHEN n.into_started THEN 1::smallint ELSE 2::smallint END AS state
          FROM (
            SELECT l.*, onceguard.next_lease() AS number
            FROM (
              SELECT i.* FROM unnest(items) WITH ORDINALITY AS i
              WHERE (NOT by_time OR i.ordinality = ANY (locked))
                AND i.ordinality <> ALL (places)
                AND NOT EXISTS (SELECT FROM onceguard.records r WHERE r.digest = i.digest)
              OFFSET 0) l
            WHERE pg_try_advisory_xact_lock(onceguard.lock_of(l.digest))
            OFFSET 0) n) f
        RETURNING token
      )
      SELECT array_agg(i.token) INTO tokens FROM inserted i;
    EXCEPTION WHEN unique_violation THEN
      -- Somebody else's first claim was committed between the look and the lock, which is seldom:
      -- one by one, below.
      tokens := NULL;
    END;

    IF tokens IS NOT NULL AND cardinality(tokens) < cardinality(items) THEN
      SELECT array_agg(i.ordinality ORDER BY r.token), array_agg(r.token ORDER BY r.token)
        INTO STRICT firsts, tokens
      FROM unnest(items) WITH ORDINALITY AS i
      JOIN onceguard.records r ON r.digest = i.digest AND r.nonce = i.nonce
      WHERE r.token = ANY (tokens);
      places := places || firsts;
    END IF;
    RETURN QUERY
      SELECT g.place, 0::smallint, 0::smallint, g.token, 1, false,
             (items[g.place]).into_started, NULL::smallint, NULL::bytea[], NULL::bytea,
             NULL::smallint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::smallint,
             NULL::smallint, NULL::bytea, g.token - base + 1
      FROM (SELECT coalesce(firsts[t.place], t.place::integer) AS place, t.token
            FROM unnest(tokens) WITH ORDINALITY AS t(token, place)) g;
    IF cardinality(tokens) = cardinality(items) THEN
      RETURN;
    END IF;
  END IF;

  IF NOT repeats_first THEN
    told := onceguard.claim_repeats(items, places, at_ms, expiry_paused);
    RETURN QUERY SELECT t.*, NULL::bigint FROM unnest(told) AS t;
    places := places || (SELECT coalesce(array_agg(t.item), '{}') FROM unnest(told) AS t);
  END IF;
  FOR place IN 1 .. cardinality(items) LOOP
    IF place <> ALL (places) THEN
      RETURN QUERY
        SELECT c.*, CASE WHEN c.verdict = 0 AND pg_current_xact_id_if_assigned() IS NOT NULL
                         THEN (SELECT t.last_value + t.is_called::integer FROM onceguard.tokens t)
                    END
        FROM onceguard.claim_one(items[place], place, at_ms, expiry_paused) AS c;
    END IF;
  END LOOP;
END
$$;

-- As before, and refused where an older copy stands under the same identity.
CREATE FUNCTION onceguard.vitals(known_identity text, known_generation bigint)
RETURNS TABLE (identity text, generation bigint, forgotten bigint, now bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT v.identity, v.generation, v.forgotten, v.now FROM onceguard.vitals() v
    WHERE (v.identity = known_identity AND v.generation < known_generation) IS NOT TRUE;
  IF NOT FOUND THEN
    RAISE 'onceguard: the database is an older copy of itself' USING ERRCODE = 'OG003';
  END IF;
END
$$;

-- For programs that know of no expectation.
CREATE OR REPLACE FUNCTION onceguard.claim_batch(items onceguard.claim_item[],
                                                 expiry_paused boolean)
RETURNS SETOF onceguard.claim_answer
LANGUAGE sql VOLATILE SECURITY DEFINER ROWS 64 SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.item, c.problem, c.verdict, c.token, c.attempt, c.probe, c.started, c.status,
         c.headers, c.body, c.kept, c.retry_after, c.retention_left, c.since, c.why,
         c.why_status, c.print_method
  FROM onceguard.claim_batch(items, expiry_paused, NULL, NULL) AS c
$$;

-- Records that were thrown away: that is another memory from now on, for all who use it.
CREATE OR REPLACE FUNCTION onceguard.records_are_gone() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE onceguard.meta SET epoch = onceguard.new_epoch(), identity = onceguard.new_epoch();
  RETURN NULL;
END
$$;
-- Also while data is loaded with its triggers off.
ALTER TABLE onceguard.records ENABLE ALWAYS TRIGGER records_are_gone;

-- Where somebody knows of more than this copy has: it is another memory than the one of this
-- identity, also for those who knew less. Once, whoever else finds it so meanwhile.
CREATE FUNCTION onceguard.begin_another_memory(of_identity text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM onceguard.raise_tokens();
  UPDATE onceguard.meta SET epoch = onceguard.new_epoch(), identity = onceguard.new_epoch()
  WHERE identity = of_identity;
END
$$;

-- A partition by itself too. It is made with the trigger, as nothing copies it.
CREATE FUNCTION onceguard.watch_partition(part regclass) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER records_are_gone AFTER TRUNCATE ON %s
                  FOR EACH STATEMENT EXECUTE FUNCTION onceguard.records_are_gone();
                  ALTER TABLE %s ENABLE ALWAYS TRIGGER records_are_gone', part, part);
END
$$;

CREATE OR REPLACE FUNCTION onceguard.add_partition(begins bigint, ends bigint) RETURNS void
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
  PERFORM onceguard.watch_partition(('onceguard.' || name)::regclass);
EXCEPTION
  WHEN lock_not_available OR check_violation THEN NULL;  -- next time
END
$$;

DO $$
BEGIN
  PERFORM onceguard.watch_partition(i.inhrelid) FROM pg_inherits i
  WHERE i.inhparent = 'onceguard.records'::regclass;
END
$$;

REVOKE ALL ON FUNCTION onceguard.watch_partition(regclass),
  onceguard.begin_another_memory(text), onceguard.vitals(text, bigint),
  onceguard.claim_batch(onceguard.claim_item[], boolean, text, bigint) FROM PUBLIC;

DO $grants$
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    GRANT EXECUTE ON FUNCTION onceguard.begin_another_memory(text),
      onceguard.vitals(text, bigint),
      onceguard.claim_batch(onceguard.claim_item[], boolean, text, bigint) TO onceguard_gateway;
  END IF;
END
$grants$;
