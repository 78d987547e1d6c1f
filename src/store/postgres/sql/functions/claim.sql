-- What applications call in whatever transaction they have open: the record and the effect commit
-- together. These functions make the digest from scope and key, and know scopes of applications
-- only: no key of a gateway's client can be claimed by them.

-- What is reported here is durable once the caller's transaction commits, whatever its session says.
CREATE OR REPLACE FUNCTION onceguard.commit_durably() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION onceguard.application_digest(scope_kind bytea, scope bytea, key bytea)
RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF scope IS NULL OR key IS NULL OR length(key) NOT BETWEEN 1 AND 255 THEN
    RAISE 'onceguard: a claim takes a scope, and a key of 1 to 255 bytes' USING ERRCODE = '22023';
  ELSIF scope_kind IS NULL OR scope_kind <> 'application' AND
        substr(scope_kind, 1, 12) <> 'application:' OR length(scope_kind) > 255 THEN
    RAISE 'onceguard: an application claims in the scope kind application, or application:NAME'
      USING ERRCODE = '22023';
  END IF;
  RETURN onceguard.record_digest(onceguard.scope_digest(scope_kind, scope), key);
END
$$;

-- Waits until nobody works on this key in another transaction; SQLSTATE 55P03 once `at_most`
-- (milliseconds) is over. The caller's transaction keeps the key from others from then on.
CREATE OR REPLACE FUNCTION onceguard.wait_for_key(scope_kind bytea, scope bytea, key bytea,
                                                  at_most bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  before constant text := current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', greatest(at_most, 1)::text, true);
  PERFORM pg_advisory_xact_lock(
    onceguard.lock_of(onceguard.application_digest(scope_kind, scope, key)));
  PERFORM set_config('lock_timeout', before, true);
END
$$;

-- No session of an application has the keys of what Onceguard's own processes encrypt. OG002: the
-- operation took effect, and its answer is not to be had here.
CREATE OR REPLACE FUNCTION onceguard.refuse_encrypted(outcome bytea) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  id constant text := onceguard.encrypted_with(outcome);
BEGIN
  IF id IS NOT NULL THEN
    RAISE 'onceguard: the operation of this key took effect, and its answer is encrypted with the '
          'key "%", which no session of an application has', id
      USING ERRCODE = 'OG002',
            HINT = 'Claim it by a process of Onceguard, with [store] encryption_keys_file.';
  END IF;
END
$$;

-- The claim, as C++ and onceguard.claim() make it. print: what tells two requests with the same key
-- apart, a SHA-256. wait: until the transaction that works on this key has ended; else the verdict
-- is `locked`. Lengths are in milliseconds. retention_ms: of the answer, if complete() names none.
CREATE OR REPLACE FUNCTION onceguard.claim_now(
  scope_kind bytea, scope bytea, key bytea, print bytea, claim_id bytea, lease_ms bigint,
  retention_ms bigint, rerun boolean, wait boolean,
  OUT verdict text, OUT digest bytea, OUT token bigint, OUT attempt integer, OUT outcome bytea,
  OUT retry_after bigint, OUT retention_left bigint, OUT since bigint, OUT why smallint,
  OUT why_status smallint, OUT step text, OUT progress bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  method constant bytea := 'application';
  day constant bigint := 86400000;
  longest constant bigint := 3155760000000;  -- 100 years
  content bytea;
  made bytea;
  floor bigint;
  now bigint;
  r onceguard.records;
  about record;
  fresh boolean;
  was_unknown boolean;
BEGIN
  digest := onceguard.application_digest(scope_kind, scope, key);
  IF length(print) <> 32 OR length(claim_id) <> 16 OR lease_ms NOT BETWEEN 0 AND longest
     OR retention_ms NOT BETWEEN 0 AND longest
     OR num_nulls(print, claim_id, lease_ms, retention_ms, rerun, wait) > 0 THEN
    RAISE 'onceguard: a claim takes a SHA-256, a claim id of 16 bytes, and a lease and a retention of '
          'at most 100 years'
      USING ERRCODE = '22023';
  END IF;
  PERFORM onceguard.commit_durably();
  IF wait THEN
    PERFORM pg_advisory_xact_lock(onceguard.lock_of(digest));
  ELSIF NOT pg_try_advisory_xact_lock(onceguard.lock_of(digest)) THEN
    verdict := 'locked';
    RETURN;
  END IF;
  content := '\x0173'::bytea || onceguard.scope_digest(scope_kind, scope)
             || onceguard.sized(scope_kind) || onceguard.sized(key) || '\x000000'::bytea
             || onceguard.sized(method) || print || '\x0000000000000000'::bytea;
  made := content || onceguard.seal(digest, claim_id, content);
  LOOP
    now := onceguard.now_ms();
    SELECT * INTO r FROM onceguard.records t WHERE t.digest = claim_now.digest;
    fresh := NOT FOUND;
    -- After the record: whoever removed one has raised the floor.
    SELECT m.floor INTO STRICT floor FROM onceguard.meta m;
    IF fresh THEN
      token := greatest(now * 1000, floor + 1);
      attempt := 1;
      INSERT INTO onceguard.records AS t (digest, claim_id, token, deadline_at, expires_at, state,
                                          retention, claimed_at, subject)
        VALUES (digest, claim_id, token, now + lease_ms, 0, 'in_progress',
                nullif(retention_ms, day), nullif(now, token / 1000), made)
        ON CONFLICT DO NOTHING;
      CONTINUE WHEN NOT FOUND;  -- somebody else's was committed just now
      verdict := 'run';
      RETURN;
    END IF;
    EXIT;
  END LOOP;
  IF NOT onceguard.readable(r) THEN
    RAISE 'onceguard: the record of this key can not be read' USING ERRCODE = 'OG002';
  END IF;
  IF r.state = 'released' AND r.claim_id = claim_now.claim_id THEN
    verdict := 'refused';
    RETURN;
  END IF;
  fresh := onceguard.expired(r.state, r.deadline_at, r.expires_at, now, false);
  was_unknown := false;
  IF NOT fresh AND r.state <> 'released' THEN
    IF r.claim_id = claim_now.claim_id AND r.state <= 'probing' THEN
      verdict := 'run';  -- the repeat of a claim whose reply was lost
      token := r.token;
      attempt := coalesce(r.attempt, 1);
      step := r.step;
      progress := r.progress;
      RETURN;
    END IF;
    about := onceguard.read_subject(r.subject);
    was_unknown := r.state IN ('in_progress', 'probing') AND now >= r.deadline_at;
    -- The fingerprint comes before everything that says what became of the key. An operator's
    -- completion of what could not be read has none.
    IF about.print_method <> '' AND (about.print_method <> method OR about.print <> print) THEN
      verdict := 'mismatch';
    ELSIF r.state = 'completed' THEN
      PERFORM onceguard.refuse_encrypted(r.outcome);
      verdict := 'replay';
      outcome := r.outcome;
      retention_left := CASE WHEN r.expires_at = 0 THEN 0 ELSE greatest(r.expires_at - now, 0) END;
    ELSIF r.state = 'failed' AND now < r.retry_at THEN
      verdict := 'backoff';
      retry_after := r.retry_at - now;
    ELSIF r.state <= 'probing' AND now < r.deadline_at THEN
      verdict := 'busy';
      retry_after := r.deadline_at - now;
    ELSIF was_unknown AND NOT rerun THEN
      verdict := 'unknown';
      why := coalesce(r.why, 1);
      why_status := r.why_status;
      since := greatest(now - coalesce(r.claimed_at, r.token / 1000), 0);
    END IF;
    IF verdict IS NOT NULL THEN
      RETURN;
    END IF;
  END IF;
  -- Taken over, or anew after the last operation of this key.
  UPDATE onceguard.records t SET
    claim_id = claim_now.claim_id, token = greatest(now * 1000, t.token + 1, floor + 1),
    deadline_at = now + lease_ms, expires_at = 0, state = 'in_progress',
    flags = nullif(CASE WHEN fresh THEN 0 ELSE coalesce(t.flags, 0) & 12 END
                   | CASE WHEN was_unknown THEN 8 ELSE 0 END, 0),
    why = CASE WHEN was_unknown THEN coalesce(t.why, 1)
               WHEN NOT fresh AND t.flags & 8 > 0 THEN t.why END,
    why_status = CASE WHEN was_unknown OR NOT fresh AND t.flags & 8 > 0 THEN t.why_status END,
    attempt = CASE WHEN NOT fresh THEN nullif(coalesce(t.attempt, 1) + 1, 1) END,
    failures = CASE WHEN NOT fresh THEN t.failures END,
    retention = nullif(retention_ms, day), unknown_retention = NULL,
    first_token = CASE WHEN NOT fresh THEN coalesce(t.first_token, t.token) END,
    claimed_at = nullif(now, greatest(now * 1000, t.token + 1, floor + 1) / 1000),
    retry_at = NULL, subject = made, outcome = NULL,
    step = CASE WHEN NOT fresh THEN t.step END, progress = CASE WHEN NOT fresh THEN t.progress END
  WHERE t.digest = claim_now.digest AND t.claim_id = r.claim_id AND t.token = r.token
    AND t.state = r.state
  RETURNING t.token, coalesce(t.attempt, 1), t.step, t.progress
    INTO token, attempt, step, progress;
  IF NOT FOUND THEN
    verdict := 'locked';
    RETURN;
  END IF;
  verdict := 'run';
END
$$;

-- Claims a key. verdict: run (with a lease: complete it), replay (with the stored answer; status
-- null: it took effect, and no answer was kept), busy, mismatch, backoff, unknown, refused.
-- The fingerprint is whatever tells two requests with the same key apart: its SHA-256 is kept.
CREATE OR REPLACE FUNCTION onceguard.claim(
  scope text, key text, fingerprint bytea DEFAULT '', wait boolean DEFAULT false,
  lease_length interval DEFAULT '30 seconds', unknown text DEFAULT 'hold',
  scope_kind text DEFAULT 'application', claim_id bytea DEFAULT NULL,
  retention interval DEFAULT '1 day',
  OUT verdict text, OUT lease text, OUT attempt integer, OUT token bigint,
  OUT status integer, OUT headers text[], OUT body bytea, OUT retry_after interval,
  OUT step text, OUT progress bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  id constant bytea := coalesce(claim_id, uuid_send(gen_random_uuid()));
  met record;
  kept record;
BEGIN
  IF unknown NOT IN ('hold', 'rerun') OR unknown IS NULL THEN
    RAISE 'onceguard: unknown is hold or rerun' USING ERRCODE = '22023';
  END IF;
  met := onceguard.claim_now(
    convert_to(scope_kind, 'UTF8'), convert_to(scope, 'UTF8'), convert_to(key, 'UTF8'),
    sha256(coalesce(fingerprint, '')), id, onceguard.milliseconds(lease_length, 'lease_length'),
    onceguard.milliseconds(retention, 'retention'), unknown = 'rerun', wait);
  verdict := CASE met.verdict WHEN 'locked' THEN 'busy' ELSE met.verdict END;
  retry_after := CASE met.verdict WHEN 'locked' THEN interval '100 milliseconds'
                                  ELSE met.retry_after * interval '1 millisecond' END;
  IF verdict = 'replay' THEN
    kept := onceguard.read_outcome(met.outcome);
    status := kept.status;
    headers := onceguard.readable_texts(kept.headers);
    body := kept.body;
  ELSIF verdict = 'run' THEN
    lease := onceguard.lease_text(met.digest, met.token, id);
    attempt := met.attempt;
    token := met.token;
    step := met.step;
    progress := met.progress;
  END IF;
END
$$;
