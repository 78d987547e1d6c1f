-- How an application ends its lease, in its own transaction. A lease that is not the record's any
-- more raises OG001, so that the transaction that it stands in can't commit.

CREATE OR REPLACE FUNCTION onceguard.lease_lost(why text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'onceguard: %', why USING ERRCODE = 'OG001',
    HINT = 'Roll back. Somebody else has this key now, or it was given up.';
END
$$;

-- The record of a lease, for the caller alone until its transaction ends: who works on it in
-- another transaction is waited for. An unreadable one raises OG002.
CREATE OR REPLACE FUNCTION onceguard.record_of(lease text) RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  held record := onceguard.read_lease(lease);
  r onceguard.records;
BEGIN
  PERFORM onceguard.commit_durably();
  -- Read before the lock, too: a lease that is none must not lock another's key.
  FOR reading IN 1 .. 2 LOOP
    SELECT * INTO r FROM onceguard.records t
    WHERE t.digest = held.digest AND t.token = held.token AND t.claim_id = held.claim_id;
    IF NOT FOUND THEN
      PERFORM onceguard.lease_lost('this lease is superseded, or has no record any more');
    ELSIF reading = 1 THEN
      PERFORM pg_advisory_xact_lock(onceguard.lock_of(held.digest));
    END IF;
  END LOOP;
  IF NOT onceguard.readable(r) THEN
    RAISE 'onceguard: the record of this lease can not be read' USING ERRCODE = 'OG002';
  END IF;
  RETURN r;
END
$$;

-- Writes what became of a lease that has not ended: also at a level of isolation at which the
-- record that was read may not be the last one.
CREATE OR REPLACE FUNCTION onceguard.write_settled(r onceguard.records) RETURNS void
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE onceguard.records t SET
    deadline_at = r.deadline_at, expires_at = r.expires_at, state = r.state,
    flags = r.flags, why = r.why, why_status = r.why_status, failures = r.failures,
    retry_at = nullif(r.retry_at, 0), subject = r.subject, outcome = r.outcome, step = r.step,
    progress = r.progress
  WHERE t.digest = r.digest AND t.token = r.token AND t.claim_id = r.claim_id
    AND t.state <= 'probing';
  IF NOT FOUND THEN
    PERFORM onceguard.lease_lost('this lease has ended');
  END IF;
  IF r.state <= 'probing' AND r.retry_at > 0 THEN  -- left unknown
    INSERT INTO onceguard.attention (digest) VALUES (r.digest) ON CONFLICT DO NOTHING;
  END IF;
END
$$;

-- Whether this transaction has settled the record, in whatever subtransaction.
CREATE OR REPLACE FUNCTION onceguard.settled_here(r onceguard.records) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  half constant bigint := 2147483648;
  current constant bigint := pg_current_xact_id()::text::bigint;
  writer bigint;
BEGIN
  IF r.state <= 'probing' AND r.retry_at IS NULL THEN  -- nor given up
    RETURN false;
  END IF;
  SELECT t.xmin::text::bigint INTO STRICT writer FROM onceguard.records t
  WHERE t.digest = r.digest;
  -- A row has the lower half of its writer's number only.
  writer := writer + current - current % (2 * half);
  writer := writer + CASE WHEN writer > current + half THEN -2 * half
                          WHEN writer < current - half THEN 2 * half ELSE 0 END;
  -- No other transaction that is in progress is visible here.
  RETURN coalesce(pg_xact_status(writer::text::xid8) = 'in progress', false);
END
$$;

-- Makes the caller's COMMIT fail unless the lease is settled by then: also where an error of
-- complete() was caught, or rolled back to a savepoint. To be called first, outside of savepoints.
CREATE OR REPLACE FUNCTION onceguard.must_settle(lease text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO onceguard.must_settle SELECT l.digest, l.token, l.claim_id
  FROM onceguard.read_lease(lease) l
$$;

CREATE OR REPLACE FUNCTION onceguard.check_settled() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM onceguard.records r
                 WHERE r.digest = NEW.digest AND r.token = NEW.token
                   AND r.claim_id = NEW.claim_id AND onceguard.settled_here(r)) THEN
    PERFORM onceguard.lease_lost('this transaction was to settle its lease, and did not');
  END IF;
  DELETE FROM onceguard.must_settle m WHERE m.ctid = NEW.ctid;
  RETURN NULL;
END
$$;

-- It took effect, with this answer or (status null) without one; headers are names and values in
-- turn, of any bytes. retention null: what the claim said. To be called again is harmless in the same
-- transaction: the first answer stays. In another one the effect would be a second one: OG001.
CREATE OR REPLACE FUNCTION onceguard.complete_now(
  lease text, status integer, headers bytea[], body bytea, retention interval) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r onceguard.records;
  content bytea := '\x016f04';
BEGIN
  IF status NOT BETWEEN 200 AND 999 OR status IS NULL AND (headers IS NOT NULL OR
                                                           body IS NOT NULL) THEN
    RAISE 'onceguard: an answer has a status from 200 to 999' USING ERRCODE = '22023';
  ELSIF cardinality(headers) % 2 <> 0 OR array_position(headers, NULL) IS NOT NULL THEN
    RAISE 'onceguard: headers are names and values in turn, none of them null'
      USING ERRCODE = '22023';
  ELSIF octet_length(body) > 16777216 THEN
    RAISE 'onceguard: an answer of at most 16 MiB is kept' USING ERRCODE = '22023';
  END IF;
  r := onceguard.record_of(lease);
  IF r.state = 'completed' THEN
    IF onceguard.settled_here(r) THEN
      RETURN;
    END IF;
    PERFORM onceguard.lease_lost('the operation of this lease has taken effect already');
  END IF;
  IF status IS NOT NULL THEN
    content := '\x016f00'::bytea || onceguard.varint(status)
      || onceguard.varint(coalesce(cardinality(headers), 0) / 2)
      || coalesce((SELECT string_agg(onceguard.sized(h.part), ''::bytea ORDER BY h.position)
                   FROM unnest(headers) WITH ORDINALITY AS h(part, position)), '')
      || onceguard.sized(coalesce(body, ''));
  END IF;
  r.outcome := content || onceguard.seal(r.digest, r.claim_id, content);
  r.deadline_at := onceguard.now_ms();
  r.expires_at := r.deadline_at + CASE
    WHEN retention IS NULL THEN coalesce(r.retention, 86400000)
    ELSE onceguard.milliseconds(retention, 'retention') END;
  IF r.state <= 'probing' THEN
    r.state := 'completed';
    r.flags := coalesce(r.flags, 0) & 7 | 16;
    r.why := NULL;
    r.why_status := NULL;
    r.failures := NULL;
    r.step := NULL;
    r.progress := NULL;
  END IF;
  PERFORM onceguard.write_settled(r);
END
$$;

-- The same with headers that are text: an array of pairs, or flat.
CREATE OR REPLACE FUNCTION onceguard.complete(
  lease text, status integer DEFAULT NULL, headers text[] DEFAULT NULL,
  body bytea DEFAULT NULL, retention interval DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM unnest(headers) WITH ORDINALITY AS h(part, position)
             WHERE CASE h.position % 2
               WHEN 1 THEN h.part !~ '^[-!#$%&''*+.^_`|~0-9A-Za-z]+$'
                 OR lower(h.part) IN ('connection', 'content-length', 'keep-alive', 'te', 'trailer',
                                      'transfer-encoding', 'upgrade')
               ELSE h.part ~ '[\x01-\x08\x0a-\x1f\x7f]' END) THEN
    RAISE 'onceguard: a header field has a name of RFC 9110, a value without control characters, and '
          'does not concern the connection' USING ERRCODE = '22023';
  END IF;
  PERFORM onceguard.complete_now(lease, status, CASE WHEN headers IS NOT NULL THEN
    ARRAY(SELECT convert_to(h.part, 'UTF8')
          FROM unnest(headers) WITH ORDINALITY AS h(part, position) ORDER BY h.position) END,
    body, retention);
END
$$;

-- It did not take effect, and is to be run again after a pause that doubles with each failure.
CREATE OR REPLACE FUNCTION onceguard.fail(
  lease text, backoff interval DEFAULT '1 second', backoff_max interval DEFAULT '60 seconds',
  retention interval DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  first constant bigint := onceguard.milliseconds(backoff, 'backoff');
  most constant bigint := onceguard.milliseconds(backoff_max, 'backoff_max');
  r onceguard.records := onceguard.record_of(lease);
  doublings constant integer := least(coalesce(r.failures, 0), 30);
BEGIN
  IF r.state = 'failed' THEN
    RETURN;
  END IF;
  r.deadline_at := onceguard.now_ms();
  r.expires_at := r.deadline_at + CASE
    WHEN retention IS NULL THEN coalesce(r.retention, 86400000)
    ELSE onceguard.milliseconds(retention, 'retention') END;
  -- Compared before it is doubled, which might overflow.
  r.retry_at := r.deadline_at + CASE WHEN first > most >> doublings THEN most
                                     ELSE first << doublings END;
  r.expires_at := greatest(r.expires_at, r.retry_at);
  IF r.state <= 'probing' THEN
    r.state := 'failed';
    r.failures := coalesce(r.failures, 0) + 1;
    IF coalesce(r.flags, 0) & 8 = 0 THEN
      r.why := NULL;
      r.why_status := NULL;
    END IF;
  END IF;
  PERFORM onceguard.write_settled(r);
END
$$;

-- Nobody knows how much of it was done: the lease ends now.
CREATE OR REPLACE FUNCTION onceguard.left_unknown(r onceguard.records, reason smallint)
RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  r.state := 'in_progress';
  r.deadline_at := onceguard.now_ms();
  r.expires_at := CASE WHEN r.unknown_retention IS NULL THEN 0
                       ELSE r.deadline_at + r.unknown_retention END;
  r.retry_at := r.deadline_at;
  IF coalesce(r.flags, 0) & 8 = 0 THEN
    r.why := coalesce(reason, r.why);
    r.why_status := CASE WHEN reason IS NULL THEN r.why_status END;
  END IF;
  RETURN r;
END
$$;

-- The key is free again; token, attempt and claim id are kept for an hour.
CREATE OR REPLACE FUNCTION onceguard.freed(r onceguard.records) RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  about record := onceguard.read_subject(r.subject);
  content bytea;
BEGIN
  content := '\x0173'::bytea || about.scope || onceguard.sized(about.scope_kind)
    || onceguard.sized(about.key) || onceguard.sized(about.method) || onceguard.sized(about.path)
    || onceguard.sized(about.route) || onceguard.sized('') || decode(repeat('00', 32), 'hex')
    || substr(r.subject, length(r.subject) - 15, 8);
  r.subject := content || onceguard.seal(r.digest, r.claim_id, content);
  r.state := 'released';
  r.deadline_at := onceguard.now_ms();
  r.expires_at := r.deadline_at + 3600000;
  r.flags := nullif(coalesce(r.flags, 0) & 4, 0);
  r.why := NULL;
  r.why_status := NULL;
  r.failures := NULL;
  r.retry_at := NULL;
  r.outcome := NULL;
  r.step := NULL;
  r.progress := NULL;
  RETURN r;
END
$$;

-- It did not take effect, and the key is free again.
CREATE OR REPLACE FUNCTION onceguard.release(lease text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r onceguard.records := onceguard.record_of(lease);
BEGIN
  IF r.state = 'released' THEN
    RETURN;
  ELSIF r.state > 'probing' THEN
    PERFORM onceguard.lease_lost('this lease has ended');
  END IF;
  -- What this lease did not do, an earlier one may have done.
  PERFORM onceguard.write_settled(CASE WHEN coalesce(r.flags, 0) & 8 > 0
    THEN onceguard.left_unknown(r, NULL) ELSE onceguard.freed(r) END);
END
$$;

-- Given up, and nobody knows how much of it was done: the lease ends now. Work in steps goes on
-- from its last one with the next claim that may run it.
CREATE OR REPLACE FUNCTION onceguard.abandon(lease text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r onceguard.records := onceguard.record_of(lease);
BEGIN
  IF r.state > 'probing' THEN
    PERFORM onceguard.lease_lost('this lease has ended');
  END IF;
  PERFORM onceguard.write_settled(CASE WHEN r.state = 'started' AND coalesce(r.flags, 0) & 8 = 0
    THEN onceguard.freed(r) ELSE onceguard.left_unknown(r, 6::smallint) END);
END
$$;

-- How far the work has come, for whoever goes on with it, and the lease in its full length again.
CREATE OR REPLACE FUNCTION onceguard.save_progress(
  lease text, step text, progress bytea DEFAULT NULL,
  lease_length interval DEFAULT '30 seconds') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  length constant bigint := onceguard.milliseconds(lease_length, 'lease_length');
  r onceguard.records := onceguard.record_of(lease);
BEGIN
  IF r.state > 'in_progress' OR r.retry_at IS NOT NULL THEN
    PERFORM onceguard.lease_lost('this lease has ended');
  END IF;
  r.state := 'in_progress';
  r.step := step;
  r.progress := progress;
  r.deadline_at := onceguard.now_ms() + length;
  r.expires_at := CASE WHEN r.unknown_retention IS NULL THEN 0
                       ELSE r.deadline_at + r.unknown_retention END;
  PERFORM onceguard.write_settled(r);
END
$$;
