-- Records that come from another store.

-- From here on tokens are above one that the other store gave; and as in a new store they go on
-- from the clock, as the other one may have given later ones to what it has forgotten. Not held
-- until the end of a transaction, as applications wait here when a session of theirs begins.
CREATE FUNCTION onceguard.raise_tokens_above(given bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  turn constant bigint := 'onceguard.incarnation'::regclass::oid;
BEGIN
  PERFORM pg_advisory_lock(turn);
  BEGIN
    PERFORM setval('onceguard.token_base', greatest(
      b.last_value, given + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
    FROM onceguard.token_base b;
  EXCEPTION
    WHEN query_canceled OR OTHERS THEN
      PERFORM pg_advisory_unlock(turn);
      RAISE;
  END;
  PERFORM pg_advisory_unlock(turn);
END
$$;

-- problem as elsewhere; outcome: 0 done, 1 this very record is there, 2 another one is.
CREATE FUNCTION onceguard.adopt(
  of_digest bytea, token bigint, nonce bytea, state smallint, attempt integer, failures integer,
  why smallint, why_status smallint, kept smallint, status smallint, headers bytea[], body bytea,
  by_operator boolean, by_application boolean, incident boolean, earlier_unknown boolean,
  maybe_repeated boolean, lease_over bigint, retry_after bigint, claimed_ago bigint,
  settled_ago bigint, retention_left bigint, unknown_retention bigint, run_timeout bigint,
  scope bytea, scope_kind bytea, key bytea, method bytea, path bytea, route bytea,
  print_method bytea, print bytea, expiry_paused boolean, OUT problem smallint,
  OUT outcome smallint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  was onceguard.records;
  r onceguard.records;
BEGIN
  problem := 0;
  outcome := 0;
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  IF NOT pg_try_advisory_xact_lock(onceguard.lock_of(of_digest)) THEN
    problem := 1;
    RETURN;
  END IF;
  was := onceguard.look_up(of_digest);
  IF was.digest IS NOT NULL THEN
    IF NOT onceguard.readable(was) THEN
      problem := 2;
      RETURN;
    ELSIF NOT onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms,
                                expiry_paused) THEN
      outcome := CASE WHEN was.nonce = nonce AND was.token = token AND was.state = state
                      THEN 1 ELSE 2 END;
      RETURN;
    END IF;
  END IF;
  PERFORM onceguard.raise_tokens_above(token);
  r.digest := of_digest;
  r.born := onceguard.birth(at_ms, onceguard.next_lease());
  r.token := token;
  r.nonce := nonce;
  r.state := state;
  r.attempt := attempt;
  r.failures := failures;
  r.why := why;
  r.why_status := why_status;
  r.kept := kept;
  r.status := status;
  r.headers := CASE WHEN status IS NOT NULL THEN coalesce(headers, '{}') END;
  r.body := CASE WHEN status IS NOT NULL THEN coalesce(body, '') END;
  r.by_operator := by_operator;
  r.by_application := by_application;
  r.incident := incident;
  r.earlier_unknown := earlier_unknown;
  r.maybe_repeated := maybe_repeated;
  r.deadline_at := at_ms - lease_over;
  r.retry_at := at_ms + retry_after;
  r.claimed_at := at_ms - claimed_ago;
  r.settled_at := CASE WHEN state <= 3 THEN 0 ELSE at_ms - settled_ago END;
  r.expires_at := CASE WHEN retention_left = 0 THEN 0 ELSE at_ms + retention_left END;
  r.unknown_retention := unknown_retention;
  r.run_timeout := run_timeout;
  r.scope := scope;
  r.scope_kind := scope_kind;
  r.key := key;
  r.method := method;
  r.path := path;
  r.route := route;
  r.print_method := print_method;
  r.print := print;
  problem := CASE WHEN onceguard.put(was, r) THEN 0 ELSE 1 END;
END
$$;

DO $grants$
DECLARE
  name text := 'onceguard.adopt(bytea, bigint, bytea, smallint, integer, integer, smallint,
    smallint, smallint, smallint, bytea[], bytea, boolean, boolean, boolean, boolean, boolean,
    bigint, bigint, bigint, bigint, bigint, bigint, bigint, bytea, bytea, bytea, bytea, bytea,
    bytea, bytea, bytea, boolean)';
BEGIN
  EXECUTE 'REVOKE ALL ON FUNCTION ' || name || ', onceguard.raise_tokens_above(bigint)
           FROM PUBLIC';
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || name || ' TO onceguard_gateway';
  END IF;
END
$grants$;
