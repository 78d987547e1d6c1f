-- Many claims at once, again: what is told of a repeat is gathered in one statement, without a look
-- for first claims before it; and first claims go in without asking twice whether they are.

-- The usual repeats, replay and busy, are read with one statement and take no lock. All are held in
-- memory at once, so long answers are not among them. `places`: of the items that have their answer.
CREATE FUNCTION onceguard.claim_repeats(items onceguard.claim_item[], places integer[],
                                        at_ms bigint, expiry_paused boolean)
RETURNS onceguard.claim_answer[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  told onceguard.claim_answer[];
BEGIN
  SELECT array_agg(ROW(t.*)::onceguard.claim_answer) INTO told
  FROM (
    SELECT i.ordinality::integer AS item, 0::smallint AS problem,
           CASE WHEN r.state = 4 THEN 1::smallint ELSE 2::smallint END AS verdict,
           NULL::bigint AS token, NULL::integer AS attempt, NULL::boolean AS probe,
           NULL::boolean AS started, r.status, r.headers, r.body,
           CASE WHEN r.state = 4 THEN r.kept END AS kept,
           CASE WHEN r.state <= 3 THEN r.deadline_at - at_ms END AS retry_after,
           CASE WHEN r.state = 4 AND r.expires_at > 0 THEN greatest(r.expires_at - at_ms, 0)
                WHEN r.state = 4 THEN 0 END AS retention_left,
           NULL::bigint AS since, NULL::smallint AS why, NULL::smallint AS why_status,
           NULL::bytea AS print_method
    FROM unnest(items) WITH ORDINALITY AS i
    JOIN onceguard.records r ON r.digest = i.digest
    WHERE i.ordinality <> ALL (places)
      AND r.print = i.print AND r.print_method = i.print_method
      AND CASE WHEN r.state = 4 THEN expiry_paused OR r.expires_at = 0 OR at_ms < r.expires_at
               ELSE r.state <= 3 AND at_ms < r.deadline_at AND r.nonce <> i.nonce END
      AND coalesce(octet_length(r.body), 0) <= 32768 AND onceguard.readable(r)
    OFFSET 0) t;
  RETURN coalesce(told, '{}');
END
$$;

CREATE OR REPLACE FUNCTION onceguard.claim_batch(items onceguard.claim_item[],
                                                 expiry_paused boolean)
RETURNS SETOF onceguard.claim_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 64
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  base bigint;
  by_time boolean;
  repeats_first boolean;
  locked bigint[];   -- by_time: places of the items whose locks were got
  tokens bigint[];   -- of the first leases, in the order of their items
  firsts integer[];  -- places of those items; null: all of them
  places integer[] := '{}';  -- of all that are answered
  told onceguard.claim_answer[];
BEGIN
  SELECT b.last_value, m.layout LIKE 'time%',
         EXISTS (SELECT FROM onceguard.records r WHERE r.digest = (items[1]).digest)
    INTO STRICT base, by_time, repeats_first
  FROM onceguard.token_base b, onceguard.meta m;

  IF by_time THEN
    PERFORM onceguard.check_isolation('time');
  END IF;

  -- What comes together is mostly of one kind: begin with that of the first one.
  IF repeats_first THEN
    told := onceguard.claim_repeats(items, places, at_ms, expiry_paused);
    RETURN QUERY SELECT * FROM unnest(told);
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
             NULL::smallint, NULL::bytea
      FROM (SELECT coalesce(firsts[t.place], t.place::integer) AS place, t.token
            FROM unnest(tokens) WITH ORDINALITY AS t(token, place)) g;
    IF cardinality(tokens) = cardinality(items) THEN
      RETURN;
    END IF;
  END IF;

  IF NOT repeats_first THEN
    told := onceguard.claim_repeats(items, places, at_ms, expiry_paused);
    RETURN QUERY SELECT * FROM unnest(told);
    places := places || (SELECT coalesce(array_agg(t.item), '{}') FROM unnest(told) AS t);
  END IF;
  FOR place IN 1 .. cardinality(items) LOOP
    IF place <> ALL (places) THEN
      RETURN NEXT onceguard.claim_one(items[place], place, at_ms, expiry_paused);
    END IF;
  END LOOP;
END
$$;

REVOKE ALL ON FUNCTION
  onceguard.claim_repeats(onceguard.claim_item[], integer[], bigint, boolean) FROM PUBLIC;
