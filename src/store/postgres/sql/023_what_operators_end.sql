-- Records that can't be read: counted and listed, and replaced where an operator forces it. And a
-- completed record may be given the answer that it lacks; one that is there stays.

-- What stands in the place of a record that could not be read. Whoever held a lease on it is
-- superseded. Whose it was and what its first request was is taken from it as it stands.
CREATE FUNCTION onceguard.remade(was onceguard.records, completed boolean, status smallint,
                                 headers bytea[], body bytea, retention bigint, at_ms bigint)
RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r onceguard.records := was;
  number bigint := onceguard.next_lease();
BEGIN
  SELECT b.last_value + number INTO STRICT r.token FROM onceguard.token_base b;
  r.nonce := decode(repeat('00', 16), 'hex');
  r.attempt := 0;
  r.claimed_at := at_ms;
  r.earlier_unknown := false;
  r.by_application := false;
  r.incident := false;
  r := onceguard.released(r, at_ms);
  IF completed THEN
    r := onceguard.ended(r, 4::smallint, retention, at_ms);
    r.print_method := was.print_method;
    r.print := was.print;
    r.kept := CASE WHEN status IS NULL THEN 4 ELSE 0 END;
    r.status := status;
    r.headers := CASE WHEN status IS NOT NULL THEN coalesce(headers, '{}') END;
    r.body := CASE WHEN status IS NOT NULL THEN coalesce(body, '') END;
  END IF;
  r.by_operator := true;
  RETURN r;
END
$$;

CREATE OR REPLACE FUNCTION onceguard.resolve(of_digest bytea, completed boolean, status smallint,
                                  headers bytea[], body bytea, force boolean, retention bigint,
                                  expiry_paused boolean)
RETURNS onceguard.resolve_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  was onceguard.records;
  r onceguard.records;
  wait bigint;
  adds boolean;
  forgets boolean;
BEGIN
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  IF NOT pg_try_advisory_xact_lock(onceguard.lock_of(of_digest)) THEN
    RETURN ROW(1, 0, 0, false)::onceguard.resolve_answer;
  END IF;
  was := onceguard.look_up(of_digest);
  adds := was.state = 4 AND completed;
  IF was.digest IS NULL THEN
    RETURN ROW(0, 1, 0, false)::onceguard.resolve_answer;
  ELSIF NOT onceguard.readable(was) AND NOT force THEN
    RETURN ROW(2, 0, 0, false)::onceguard.resolve_answer;
  ELSIF NOT onceguard.readable(was) THEN
    r := onceguard.remade(was, completed, status, headers, body, retention, at_ms);
    IF NOT onceguard.put(was, r) THEN
      RETURN ROW(1, 0, 0, false)::onceguard.resolve_answer;
    END IF;
    UPDATE onceguard.meta SET forgotten = forgotten + 1;
    RETURN ROW(0, 0, 0, true)::onceguard.resolve_answer;
  ELSIF was.state = 6 OR onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms,
                                           expiry_paused) THEN
    RETURN ROW(0, 1, 0, false)::onceguard.resolve_answer;
  ELSIF adds AND (was.kept <= 1 OR status IS NULL) THEN
    RETURN ROW(0, 3, 0, false)::onceguard.resolve_answer;
  END IF;
  wait := onceguard.still_running(was, completed, at_ms);
  IF was.state <= 3 AND NOT force AND wait IS NOT NULL THEN
    RETURN ROW(0, 2, wait, false)::onceguard.resolve_answer;
  END IF;
  IF completed THEN
    -- The work is a fact as it was, for as long as it was.
    r := was;
    IF NOT adds THEN
      r := onceguard.ended(was, 4::smallint, retention, at_ms);
    END IF;
    r.kept := CASE WHEN status IS NULL THEN 4 ELSE 0 END;
    r.status := status;
    r.headers := CASE WHEN status IS NOT NULL THEN coalesce(headers, '{}') END;
    r.body := CASE WHEN status IS NOT NULL THEN coalesce(body, '') END;
  ELSE
    r := onceguard.released(was, at_ms);
  END IF;
  r.by_operator := true;
  IF NOT onceguard.put(was, r) THEN
    RETURN ROW(1, 0, 0, false)::onceguard.resolve_answer;
  END IF;
  forgets := was.state = 4;  -- what caches have is not so any more
  IF forgets THEN
    UPDATE onceguard.meta SET forgotten = forgotten + 1;
  END IF;
  RETURN ROW(0, 0, 0, forgets)::onceguard.resolve_answer;
END
$$;

CREATE OR REPLACE FUNCTION onceguard.list_piece(of_state smallint, of_key bytea, of_scope bytea,
                                     after bigint, page integer, expiry_paused boolean)
RETURNS SETOF onceguard.found
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  until timestamptz := clock_timestamp() + interval '1 second';
  examine constant integer := 20000;
  examined integer := 0;
  chosen integer := 0;
  r onceguard.records;
  goes_on onceguard.found;
BEGIN
  goes_on.problem := 3;
  goes_on.born := after;
  FOR r IN SELECT * FROM onceguard.records t WHERE t.born > after ORDER BY t.born
           LIMIT examine + 1
  LOOP
    IF chosen = page OR examined = examine OR examined > 0 AND clock_timestamp() >= until THEN
      RETURN NEXT goes_on;
      RETURN;
    END IF;
    examined := examined + 1;
    goes_on.born := r.born;
    -- What can't be read may be what any filter looks for, and whether it has expired nobody knows.
    CONTINUE WHEN (of_key IS NOT NULL AND r.key <> of_key
      OR of_scope IS NOT NULL AND r.scope <> of_scope
      OR of_state IS NOT NULL AND of_state <> onceguard.observed(r.state, r.deadline_at, at_ms)
      OR onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms, expiry_paused))
      AND onceguard.readable(r);
    chosen := chosen + 1;
    RETURN NEXT onceguard.shown(r, at_ms);
  END LOOP;
END
$$;

-- State 0: those that can't be read.
CREATE OR REPLACE FUNCTION onceguard.counts_piece(after bigint, expiry_paused boolean)
RETURNS TABLE (state smallint, records bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  most constant integer := 20000;
BEGIN
  RETURN QUERY
    SELECT p.seen, CASE WHEN p.seen IS NULL THEN max(p.born)
                        ELSE count(*) FILTER (WHERE NOT p.over) END
    FROM (SELECT t.born, CASE WHEN t.whole THEN t.seen ELSE 0::smallint END AS seen,
                 t.whole AND t.over AS over
          FROM (SELECT r.born, onceguard.readable(r) AS whole,
                       onceguard.observed(r.state, r.deadline_at, at_ms) AS seen,
                       onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms,
                                         expiry_paused) AS over
                FROM onceguard.records r WHERE r.born > after ORDER BY r.born LIMIT most) t) p
    GROUP BY GROUPING SETS ((p.seen), ())
    HAVING p.seen IS NOT NULL OR count(*) = most
    ORDER BY p.seen NULLS LAST;
END
$$;

CREATE OR REPLACE FUNCTION onceguard.judge_claim(r onceguard.records, i onceguard.claim_item,
                                      place integer, at_ms bigint, expiry_paused boolean,
                                      OUT told onceguard.claim_answer, OUT into_state smallint,
                                      OUT was_unknown boolean)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  wait bigint;
BEGIN
  told.item := place;
  told.problem := 0;
  into_state := CASE WHEN i.into_started THEN 1 ELSE 2 END;
  was_unknown := false;
  IF r.digest IS NULL THEN
    RETURN;
  END IF;
  IF NOT onceguard.readable(r) THEN
    told.problem := 2;
    RETURN;
  END IF;
  IF r.state = 6 AND r.nonce = i.nonce THEN
    told.verdict := 7;
    RETURN;
  END IF;
  IF r.state = 6 OR onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms, expiry_paused)
  THEN
    RETURN;
  END IF;
  IF r.nonce = i.nonce AND r.state <= 3 THEN  -- the repeat of a claim whose reply was lost
    told := onceguard.lease_told(r, place);
    RETURN;
  END IF;
  -- The fingerprint comes before everything that says what became of the key. None is there where
  -- an operator has completed what could not be read.
  IF r.print_method <> '' AND r.print_method <> i.print_method THEN
    told.verdict := 6;
    told.print_method := r.print_method;
  ELSIF r.print_method <> '' AND r.print <> i.print THEN
    told.verdict := 3;
  ELSIF r.state = 4 THEN
    told.verdict := 1;
    told.status := r.status;
    told.headers := r.headers;
    told.body := r.body;
    told.kept := r.kept;
    told.retention_left := CASE WHEN r.expires_at = 0 THEN 0
                                ELSE greatest(r.expires_at - at_ms, 0) END;
  ELSIF r.state = 5 THEN
    IF at_ms < r.retry_at THEN
      told.verdict := 4;
      told.retry_after := r.retry_at - at_ms;
    END IF;
  ELSIF at_ms < r.deadline_at THEN
    told.verdict := 2;
    told.retry_after := r.deadline_at - at_ms;
  ELSIF r.state <> 1 THEN
    wait := CASE WHEN i.unknown <> 1 THEN 0
                 WHEN i.probe_after = 0 THEN greatest(r.retry_at - at_ms, 0)
                 ELSE greatest(r.retry_at - at_ms, r.claimed_at + i.probe_after - at_ms, 0) END;
    IF i.unknown = 0 OR wait > 0 THEN
      told.verdict := 5;
      told.why := CASE WHEN r.why = 0 THEN 1 ELSE r.why END;
      told.why_status := r.why_status;
      told.since := greatest(at_ms - r.claimed_at, 0);
      told.retry_after := wait;
    ELSE
      was_unknown := true;
      into_state := CASE WHEN i.unknown = 1 THEN 3 ELSE 2 END;
    END IF;
  END IF;
END
$$;

REVOKE ALL ON FUNCTION onceguard.remade(onceguard.records, boolean, smallint, bytea[], bytea,
                                        bigint, bigint) FROM PUBLIC;
