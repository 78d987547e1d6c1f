-- What applications call, in whatever transaction they have open: the record and the effect
-- commit together. A lease that is not the record's any more raises OG001, so that the
-- transaction that it stands in can't commit.

CREATE FUNCTION onceguard.lease_lost(why text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'onceguard: %', why USING ERRCODE = 'OG001',
    HINT = 'Roll back. Somebody else has this key now, or it was given up.';
END
$$;

-- What is told here is durable once the caller's transaction commits, whatever its session says.
CREATE FUNCTION onceguard.commit_durably() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END
$$;

-- Claims in the caller's transaction, with everything that a claim can say. wait: until whoever
-- works on this record in another transaction has ended it; else that is `locked` (problem 1).
CREATE FUNCTION onceguard.claim_item_now(item onceguard.claim_item, wait boolean)
RETURNS onceguard.claim_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  PERFORM onceguard.check_incarnation();
  PERFORM onceguard.commit_durably();
  IF wait THEN
    PERFORM pg_advisory_xact_lock(onceguard.lock_of(item.digest));
  END IF;
  RETURN onceguard.claim_one(item, 1, onceguard.now_ms(), false);
END
$$;

-- The same, without waiting, and how far the work has come: what C++ claims by.
CREATE FUNCTION onceguard.claim_to_execute(
  item onceguard.claim_item, OUT told onceguard.claim_answer, OUT step text, OUT progress bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  told := onceguard.claim_item_now(item, false);
  IF told.verdict = 0 THEN
    SELECT r.step, r.progress INTO step, progress
    FROM onceguard.records r WHERE r.digest = item.digest;
  END IF;
END
$$;

-- Waits until nobody works on this record in another transaction; SQLSTATE 55P03 once `at_most`
-- (milliseconds) is over. The caller's transaction keeps the record from others from then on.
CREATE FUNCTION onceguard.wait_for_record(digest bytea, at_most bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before constant text := current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', greatest(at_most, 1)::text, true);
  PERFORM pg_advisory_xact_lock(onceguard.lock_of(digest));
  PERFORM set_config('lock_timeout', before, true);
END
$$;

-- Claims a key. verdict: run (with a lease: complete it), replay (with the stored answer; status
-- null: it took effect, and no answer was kept), busy, mismatch, backoff, unknown, refused.
-- The fingerprint is whatever tells two requests with the same key apart: its SHA-256 is kept.
CREATE FUNCTION onceguard.claim(
  scope text, key text, fingerprint bytea DEFAULT '', wait boolean DEFAULT false,
  lease_length interval DEFAULT '30 seconds', unknown text DEFAULT 'hold',
  scope_kind text DEFAULT 'application', nonce bytea DEFAULT NULL,
  OUT verdict text, OUT lease text, OUT attempt integer, OUT token bigint,
  OUT status integer, OUT headers text[], OUT body bytea, OUT retry_after interval,
  OUT step text, OUT progress bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  item onceguard.claim_item;
  told onceguard.claim_answer;
BEGIN
  IF scope IS NULL OR key IS NULL OR octet_length(convert_to(key, 'UTF8')) NOT BETWEEN 1 AND 255
     OR unknown NOT IN ('hold', 'rerun') OR octet_length(nonce) <> 16 THEN
    RAISE 'onceguard: a claim takes a scope, a key of 1 to 255 bytes, unknown as hold or rerun, '
          'and a nonce of 16 bytes or none' USING ERRCODE = '22023';
  END IF;
  item.scope := onceguard.scope_digest(scope_kind, scope);
  item.scope_kind := convert_to(scope_kind, 'UTF8');
  item.key := convert_to(key, 'UTF8');
  item.digest := onceguard.record_digest(item.scope, item.key);
  item.nonce := coalesce(nonce, uuid_send(gen_random_uuid()));
  item.method := '';
  item.path := '';
  item.route := '';
  item.print_method := 'application';
  item.print := sha256(coalesce(fingerprint, ''));
  item.run_timeout := 0;
  item.lease := onceguard.milliseconds(lease_length, 'lease_length');
  item.into_started := false;
  item.unknown := CASE unknown WHEN 'rerun' THEN 2 ELSE 0 END;
  item.probe_after := 0;
  item.unknown_retention := 0;
  item.maybe_repeated := false;
  told := onceguard.claim_item_now(item, wait);
  IF told.problem = 2 THEN
    RAISE 'onceguard: the record of this key can not be read' USING ERRCODE = 'OG002';
  END IF;
  verdict := CASE WHEN told.problem = 1 THEN 'busy' ELSE (ARRAY[
    'run', 'replay', 'busy', 'mismatch', 'backoff', 'unknown', 'mismatch', 'refused'
    ])[told.verdict + 1] END;
  retry_after := CASE WHEN told.problem = 1 THEN interval '100 milliseconds'
                      ELSE told.retry_after * interval '1 millisecond' END;
  status := told.status;
  headers := onceguard.readable_texts(told.headers);
  body := told.body;
  IF told.verdict = 0 THEN
    lease := onceguard.lease_text(item.digest, told.token, item.nonce);
    attempt := told.attempt;
    token := told.token;
    SELECT r.step, r.progress INTO step, progress
    FROM onceguard.records r WHERE r.digest = item.digest;
  END IF;
END
$$;

-- Ends the lease in the caller's transaction; whoever works on the record is waited for.
CREATE FUNCTION onceguard.settle_now(item onceguard.settle_item) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  told onceguard.settle_answer;
BEGIN
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  PERFORM onceguard.commit_durably();
  PERFORM pg_advisory_xact_lock(onceguard.lock_of(item.digest));
  -- Told by the application, whatever it tells: what is not its record's lease changes nothing.
  item.by_application := true;
  told := onceguard.settle_locked(item, 1, onceguard.now_ms(), false);
  IF told.problem = 2 THEN
    RAISE 'onceguard: the record of this lease can not be read' USING ERRCODE = 'OG002';
  ELSIF told.problem <> 0 OR told.outcome <> 0 THEN
    PERFORM onceguard.lease_lost('this lease is superseded, or has no record any more');
  END IF;
END
$$;

CREATE FUNCTION onceguard.settle_item_of(lease text, kind smallint, retention interval)
RETURNS onceguard.settle_item
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  item onceguard.settle_item;
  held record := onceguard.read_lease(lease);
BEGIN
  item.digest := held.digest;
  item.token := held.token;
  item.nonce := held.nonce;
  item.kind := kind;
  item.kept := 4;
  item.retention := onceguard.milliseconds(retention, 'retention');
  item.backoff := 0;
  item.backoff_max := 0;
  item.why := 0;
  item.why_status := 0;
  item.probe_pause := 0;
  RETURN item;
END
$$;

-- It took effect, with this answer or (status null) without one; headers are names and values in
-- turn, of any bytes. To be called again with the same lease is harmless: the first answer stays.
CREATE FUNCTION onceguard.complete_now(
  lease text, status integer, headers bytea[], body bytea, retention interval) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  item onceguard.settle_item := onceguard.settle_item_of(lease, 0::smallint, retention);
BEGIN
  IF status NOT BETWEEN 100 AND 999 OR status IS NULL AND (headers IS NOT NULL OR
                                                           body IS NOT NULL) THEN
    RAISE 'onceguard: an answer has a status from 100 to 999' USING ERRCODE = '22023';
  END IF;
  IF status IS NOT NULL THEN
    IF cardinality(headers) % 2 <> 0 OR array_position(headers, NULL) IS NOT NULL THEN
      RAISE 'onceguard: headers are names and values in turn, none of them null'
        USING ERRCODE = '22023';
    END IF;
    item.kept := 0;
    item.status := status;
    item.headers := headers;
    item.body := coalesce(body, '');
  END IF;
  PERFORM onceguard.settle_now(item);
END
$$;

-- The same with headers that are text: an array of pairs, or flat.
CREATE FUNCTION onceguard.complete(
  lease text, status integer DEFAULT NULL, headers text[] DEFAULT NULL,
  body bytea DEFAULT NULL, retention interval DEFAULT '24 hours') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM onceguard.complete_now(
    lease, status, CASE WHEN headers IS NOT NULL THEN onceguard.header_list(headers) END, body,
    retention);
END
$$;

-- It did not take effect, and is to be run again after a pause that doubles with each failure.
CREATE FUNCTION onceguard.fail(
  lease text, backoff interval DEFAULT '1 second', backoff_max interval DEFAULT '60 seconds',
  retention interval DEFAULT '24 hours') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  item onceguard.settle_item := onceguard.settle_item_of(lease, 1::smallint, retention);
BEGIN
  item.backoff := onceguard.milliseconds(backoff, 'backoff');
  item.backoff_max := onceguard.milliseconds(backoff_max, 'backoff_max');
  PERFORM onceguard.settle_now(item);
END
$$;

-- It did not take effect, and the key is free again.
CREATE FUNCTION onceguard.release(lease text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM onceguard.settle_now(onceguard.settle_item_of(lease, 2::smallint, '0'));
END
$$;

-- Given up, and nobody knows how much of it was done: the lease ends now. Work in steps goes on
-- from its last one with the next claim that may run it.
CREATE FUNCTION onceguard.abandon(lease text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  item onceguard.settle_item := onceguard.settle_item_of(lease, 3::smallint, '0');
BEGIN
  item.why := 6;
  PERFORM onceguard.settle_now(item);
END
$$;

-- How far the work has come, for whoever goes on with it, and the lease in its full length again.
CREATE FUNCTION onceguard.save_progress(
  lease text, step text, progress bytea DEFAULT NULL,
  lease_length interval DEFAULT '30 seconds') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held record := onceguard.read_lease(lease);
  was onceguard.records;
  r onceguard.records;
  at_ms bigint;
  length bigint := onceguard.milliseconds(lease_length, 'lease_length');
BEGIN
  PERFORM onceguard.check_isolation(m.layout) FROM onceguard.meta m;
  PERFORM onceguard.commit_durably();
  PERFORM pg_advisory_xact_lock(onceguard.lock_of(held.digest));
  was := onceguard.look_up(held.digest);
  IF was.digest IS NOT NULL AND NOT onceguard.readable(was) THEN
    RAISE 'onceguard: the record of this lease can not be read' USING ERRCODE = 'OG002';
  END IF;
  at_ms := onceguard.now_ms();
  r := was;
  r.born := onceguard.born_again(
    was, onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms, false), at_ms);
  r.state := 2;
  r.step := step;
  r.progress := progress;
  r.deadline_at := at_ms + length;
  r.expires_at := CASE WHEN r.unknown_retention = 0 THEN 0
                       ELSE at_ms + length + r.unknown_retention END;
  IF was.digest IS NULL OR was.nonce <> held.nonce OR was.token <> held.token
     OR was.state NOT IN (1, 2) OR NOT onceguard.put(was, r) THEN
    PERFORM onceguard.lease_lost('this lease is superseded, or has no record any more');
  END IF;
END
$$;
