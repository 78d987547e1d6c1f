-- An operator may give a completed record the answer that it lacks; one that is there stays.

CREATE OR REPLACE FUNCTION onceguard.resolve(
  of_digest bytea, completed boolean, status smallint, headers bytea[], body bytea, force boolean,
  retention bigint, expiry_paused boolean)
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
  ELSIF NOT onceguard.readable(was) THEN
    RETURN ROW(2, 0, 0, false)::onceguard.resolve_answer;
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
