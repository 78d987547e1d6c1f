-- Many settles, and many extensions, in one statement. What completes its own running lease, the
-- usual case, is written with one UPDATE; the rest goes one by one.

CREATE FUNCTION onceguard.settle_batch(items onceguard.settle_item[], expiry_paused boolean)
RETURNS SETOF onceguard.settle_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 64
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  by_time boolean;
  answered bigint[];
BEGIN
  SELECT m.layout LIKE 'time%' INTO STRICT by_time FROM onceguard.meta m;
  IF by_time THEN
    -- Here a record may move while its lock is waited for: look at it only after the lock.
    PERFORM onceguard.check_isolation('time');
    PERFORM pg_try_advisory_xact_lock(onceguard.lock_of(i.digest)) FROM unnest(items) AS i;
  END IF;

  WITH completed AS (
    UPDATE onceguard.records r SET
      state = 4, deadline_at = at_ms, settled_at = at_ms, expires_at = at_ms + a.retention,
      why = 0, why_status = 0, failures = 0, earlier_unknown = false,
      kept = a.kept, status = a.status, headers = a.list, body = a.bytes,
      by_application = a.told_by_application,
      step = NULL, progress = NULL,
      checksum = hash_record_extended(ROW(
        r.born, r.token, at_ms, r.retry_at, r.claimed_at, at_ms, at_ms + a.retention,
        r.unknown_retention, r.run_timeout, r.attempt, 0, r.format, 4::smallint, 0::smallint,
        0::smallint, a.kept, a.status, r.by_operator, a.told_by_application, r.incident,
        false, r.maybe_repeated, r.digest, r.nonce, r.scope, r.scope_kind, r.key,
        r.method, r.path, r.route, r.print_method, r.print, a.list, a.bytes,
        NULL::text, NULL::bytea), 0)
    FROM (
      SELECT i.*, CASE WHEN i.status IS NOT NULL THEN coalesce(i.headers, '{}') END AS list,
             CASE WHEN i.status IS NOT NULL THEN coalesce(i.body, '') END AS bytes,
             coalesce(i.by_application, false) AS told_by_application
      FROM unnest(items) WITH ORDINALITY AS i
      WHERE i.kind = 0 AND pg_try_advisory_xact_lock(onceguard.lock_of(i.digest))
      OFFSET 0) a
    WHERE r.digest = a.digest AND r.token = a.token AND r.nonce = a.nonce AND r.state <= 3
      AND (r.expires_at = 0 OR at_ms < r.expires_at)
      AND (a.print IS NULL OR a.print = r.print) AND onceguard.readable(r)
    RETURNING a.ordinality
  )
  SELECT array_agg(c.ordinality) INTO answered FROM completed c;

  RETURN QUERY
    SELECT g.place::integer, 0::smallint, 0::smallint, NULL::smallint, NULL::smallint,
           NULL::bytea[], NULL::bytea, NULL::smallint
    FROM unnest(answered) AS g(place);

  IF answered IS NULL OR cardinality(answered) < cardinality(items) THEN
    FOR place IN 1 .. cardinality(items) LOOP
      IF answered IS NULL OR place <> ALL (answered) THEN
        RETURN NEXT onceguard.settle_one(items[place], place, at_ms, expiry_paused);
      END IF;
    END LOOP;
  END IF;
END
$$;

-- Renews one lease, or moves it from `started` or `probing` to `in_progress` (dispatch).
CREATE FUNCTION onceguard.extend_one(i onceguard.extend_item, place integer, at_ms bigint)
RETURNS onceguard.extend_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  was onceguard.records;
  r onceguard.records;
BEGIN
  IF NOT pg_try_advisory_xact_lock(onceguard.lock_of(i.digest)) THEN
    RETURN ROW(place, 1, false)::onceguard.extend_answer;
  END IF;
  was := onceguard.look_up(i.digest);
  IF was.digest IS NOT NULL AND NOT onceguard.readable(was) THEN
    RETURN ROW(place, 2, false)::onceguard.extend_answer;
  END IF;
  IF was.digest IS NULL OR was.nonce <> i.nonce OR was.token <> i.token OR was.state > 3 THEN
    RETURN ROW(place, 0, false)::onceguard.extend_answer;
  END IF;
  r := was;
  IF i.dispatch THEN
    -- The application said that nothing had happened, and refuses the earlier tokens now.
    IF was.state = 3 THEN
      r.earlier_unknown := false;
      r.why := 0;
      r.why_status := 0;
    END IF;
    r.state := 2;
  END IF;
  r.born := onceguard.born_again(
    was, onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms, false), at_ms);
  r.deadline_at := at_ms + i.lease;
  r.expires_at := CASE WHEN r.unknown_retention = 0 THEN 0
                       ELSE at_ms + i.lease + r.unknown_retention END;
  IF onceguard.put(was, r) THEN
    RETURN ROW(place, 0, true)::onceguard.extend_answer;
  END IF;
  RETURN ROW(place, 1, false)::onceguard.extend_answer;
END
$$;

CREATE FUNCTION onceguard.extend_batch(items onceguard.extend_item[])
RETURNS SETOF onceguard.extend_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 64
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
BEGIN
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  FOR place IN 1 .. cardinality(items) LOOP
    RETURN NEXT onceguard.extend_one(items[place], place, at_ms);
  END LOOP;
END
$$;
