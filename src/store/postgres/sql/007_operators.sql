-- What operators ask and do.

-- A record as it stands. problem 2: unreadable, and everything but digest and born is null.
CREATE TYPE onceguard.found AS (
  problem smallint, now bigint, observed smallint,
  born bigint, token bigint, deadline_at bigint, retry_at bigint, claimed_at bigint,
  settled_at bigint, expires_at bigint, unknown_retention bigint, run_timeout bigint,
  attempt integer, failures integer, state smallint, why smallint, why_status smallint,
  kept smallint, status smallint, by_operator boolean, by_application boolean,
  incident boolean, earlier_unknown boolean, maybe_repeated boolean,
  digest bytea, nonce bytea, scope bytea, scope_kind bytea, key bytea, method bytea,
  path bytea, route bytea, print_method bytea, print bytea, headers bytea[], body bytea,
  step text, progress bytea
);

CREATE FUNCTION onceguard.shown(r onceguard.records, at_ms bigint) RETURNS onceguard.found
LANGUAGE plpgsql STABLE AS $$
DECLARE
  f onceguard.found;
BEGIN
  f.problem := 2;
  f.now := at_ms;
  f.born := r.born;
  f.digest := r.digest;
  IF NOT onceguard.readable(r) THEN
    RETURN f;
  END IF;
  RETURN ROW(
    0::smallint, at_ms, onceguard.observed(r.state, r.deadline_at, at_ms),
    r.born, r.token, r.deadline_at, r.retry_at, r.claimed_at, r.settled_at, r.expires_at,
    r.unknown_retention, r.run_timeout, r.attempt, r.failures, r.state, r.why, r.why_status,
    r.kept, r.status, r.by_operator, r.by_application, r.incident, r.earlier_unknown,
    r.maybe_repeated, r.digest, r.nonce, r.scope, r.scope_kind, r.key, r.method, r.path,
    r.route, r.print_method, r.print, r.headers, r.body, r.step, r.progress)::onceguard.found;
END
$$;

CREATE FUNCTION onceguard.find(of_digest bytea, expiry_paused boolean)
RETURNS SETOF onceguard.found
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  r onceguard.records := onceguard.look_up(of_digest);
BEGIN
  IF r.digest IS NOT NULL AND (NOT onceguard.readable(r) OR NOT onceguard.expired(
       r.state, r.deadline_at, r.expires_at, at_ms, expiry_paused)) THEN
    RETURN NEXT onceguard.shown(r, at_ms);
  END IF;
END
$$;

-- In the order of the first claim, those born after `after`.
CREATE FUNCTION onceguard.list(of_state smallint, of_key bytea, of_scope bytea, after bigint,
                               page integer, expiry_paused boolean)
RETURNS SETOF onceguard.found
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
BEGIN
  RETURN QUERY
    SELECT (onceguard.shown(chosen.r, at_ms)).*
    FROM (SELECT r FROM onceguard.records r
          WHERE r.born > after
            AND (of_state IS NULL
                 OR of_state = onceguard.observed(r.state, r.deadline_at, at_ms))
            AND (of_key IS NULL OR r.key = of_key)
            AND (of_scope IS NULL OR r.scope = of_scope)
            AND NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms,
                                      expiry_paused)
          ORDER BY r.born LIMIT page) chosen;
END
$$;

CREATE FUNCTION onceguard.counts(expiry_paused boolean)
RETURNS TABLE (state smallint, records bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  at_ms bigint := onceguard.now_ms();
BEGIN
  RETURN QUERY
    SELECT onceguard.observed(r.state, r.deadline_at, at_ms) AS seen, count(*)
    FROM onceguard.records r
    WHERE NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms, expiry_paused)
    GROUP BY seen;
END
$$;

-- How an operator ends what nobody else does. For how long it is refused (null: it may go on).
CREATE FUNCTION onceguard.still_running(r onceguard.records, completed boolean, at_ms bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  -- After an answer the work is over; else it may go on until the upstream's timeout.
  SELECT nullif(greatest(r.deadline_at - at_ms + CASE
    WHEN completed OR r.why = 2 AND NOT r.earlier_unknown THEN 0 ELSE r.run_timeout END, 0), 0)
$$;

CREATE FUNCTION onceguard.resolve(of_digest bytea, completed boolean, status smallint,
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
  forgets boolean := false;
BEGIN
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  IF NOT pg_try_advisory_xact_lock(onceguard.lock_of(of_digest)) THEN
    RETURN ROW(1, 0, 0, false)::onceguard.resolve_answer;
  END IF;
  was := onceguard.look_up(of_digest);
  IF was.digest IS NULL THEN
    RETURN ROW(0, 1, 0, false)::onceguard.resolve_answer;
  ELSIF NOT onceguard.readable(was) THEN
    RETURN ROW(2, 0, 0, false)::onceguard.resolve_answer;
  ELSIF was.state = 6 OR onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms,
                                           expiry_paused) THEN
    RETURN ROW(0, 1, 0, false)::onceguard.resolve_answer;
  ELSIF was.state = 4 AND completed THEN
    RETURN ROW(0, 3, 0, false)::onceguard.resolve_answer;
  END IF;
  wait := onceguard.still_running(was, completed, at_ms);
  IF was.state <= 3 AND NOT force AND wait IS NOT NULL THEN
    RETURN ROW(0, 2, wait, false)::onceguard.resolve_answer;
  END IF;
  IF completed THEN
    r := onceguard.ended(was, 4::smallint, retention, at_ms);
    r.kept := CASE WHEN status IS NULL THEN 4 ELSE 0 END;
    r.status := status;
    r.headers := CASE WHEN status IS NOT NULL THEN coalesce(headers, '{}') END;
    r.body := CASE WHEN status IS NOT NULL THEN coalesce(body, '') END;
  ELSE
    forgets := was.state = 4;
    r := onceguard.released(was, at_ms);
  END IF;
  r.by_operator := true;
  IF NOT onceguard.put(was, r) THEN
    RETURN ROW(1, 0, 0, false)::onceguard.resolve_answer;
  END IF;
  IF forgets THEN
    UPDATE onceguard.meta SET forgotten = forgotten + 1;
  END IF;
  RETURN ROW(0, 0, 0, forgets)::onceguard.resolve_answer;
END
$$;
