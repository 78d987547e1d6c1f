-- Claims: what a claim meets is decided as the state machine says, record by record; first
-- claims of many keys go in with one statement.

-- A new lease on what stands there; `was` is all null where nothing counts as standing there.
CREATE FUNCTION onceguard.granted(was onceguard.records, i onceguard.claim_item, at_ms bigint,
                                  into_state smallint) RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  number bigint := onceguard.next_lease();
  r onceguard.records;
BEGIN
  r.digest := i.digest;
  r.born := coalesce(CASE WHEN was.state <> 6 THEN was.born END, onceguard.birth(at_ms, number));
  SELECT b.last_value + number INTO STRICT r.token FROM onceguard.token_base b;
  r.deadline_at := at_ms + i.lease;
  r.retry_at := 0;
  r.claimed_at := at_ms;
  r.settled_at := 0;
  r.expires_at := CASE WHEN i.unknown_retention = 0 THEN 0
                       ELSE at_ms + i.lease + i.unknown_retention END;
  r.unknown_retention := i.unknown_retention;
  r.run_timeout := i.run_timeout;
  r.attempt := coalesce(was.attempt, 0) + 1;
  r.failures := coalesce(was.failures, 0);
  r.state := into_state;
  r.earlier_unknown := coalesce(was.earlier_unknown, false);
  r.why := CASE WHEN r.earlier_unknown THEN was.why ELSE 0 END;
  r.why_status := CASE WHEN r.earlier_unknown THEN was.why_status ELSE 0 END;
  r.kept := 4;
  r.by_operator := false;
  r.by_application := false;
  r.incident := false;
  r.maybe_repeated := i.maybe_repeated OR coalesce(was.maybe_repeated, false);
  r.nonce := i.nonce;
  r.scope := i.scope;
  r.scope_kind := i.scope_kind;
  r.key := i.key;
  r.method := i.method;
  r.path := i.path;
  r.route := i.route;
  r.print_method := i.print_method;
  r.print := i.print;
  r.step := CASE WHEN was.state <> 6 THEN was.step END;
  r.progress := CASE WHEN was.state <> 6 THEN was.progress END;
  RETURN r;
END
$$;

CREATE FUNCTION onceguard.lease_told(r onceguard.records, place integer)
RETURNS onceguard.claim_answer
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  told onceguard.claim_answer;
BEGIN
  told.item := place;
  told.problem := 0;
  told.verdict := 0;
  told.token := r.token;
  told.attempt := r.attempt;
  told.probe := r.state = 3;
  told.started := r.state = 1;
  RETURN told;
END
$$;

-- What the claim may do on a record that is there, where that changes nothing: all but a new
-- lease. A verdict of null: it takes a lease; into_state and was_unknown say which.
CREATE FUNCTION onceguard.judge_claim(r onceguard.records, i onceguard.claim_item,
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
  -- The fingerprint comes before everything that says what became of the key.
  IF r.print_method <> i.print_method THEN
    told.verdict := 6;
    told.print_method := r.print_method;
  ELSIF r.print <> i.print THEN
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

-- The lease that judge_claim let through. The caller holds the record's lock.
CREATE FUNCTION onceguard.lease_out(was onceguard.records, i onceguard.claim_item,
                                    place integer, at_ms bigint, expiry_paused boolean,
                                    into_state smallint, was_unknown boolean)
RETURNS onceguard.claim_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  kept onceguard.records := was;
  r onceguard.records;
  told onceguard.claim_answer;
BEGIN
  IF onceguard.expired(was.state, was.deadline_at, was.expires_at, at_ms, expiry_paused) THEN
    kept := NULL;
  END IF;
  r := onceguard.granted(kept, i, at_ms, into_state);
  IF was_unknown THEN
    -- It stays the unknown that it was, until this lease completes or the application says that
    -- nothing had happened.
    r.earlier_unknown := true;
    r.why := CASE WHEN was.why = 0 THEN 1 ELSE was.why END;
    r.why_status := was.why_status;
    IF into_state = 3 THEN
      r.claimed_at := was.claimed_at;  -- the time of the attempt whose outcome is unknown
    END IF;
  END IF;
  IF onceguard.put(was, r) THEN
    RETURN onceguard.lease_told(r, place);
  END IF;
  told.item := place;
  told.problem := 1;
  RETURN told;
END
$$;

-- One claim, whatever it meets. It looks first: what changes nothing takes no lock.
CREATE FUNCTION onceguard.claim_one(i onceguard.claim_item, place integer, at_ms bigint,
                                    expiry_paused boolean) RETURNS onceguard.claim_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r onceguard.records := onceguard.look_up(i.digest);
  judged record;
  told onceguard.claim_answer;
BEGIN
  judged := onceguard.judge_claim(r, i, place, at_ms, expiry_paused);
  told := judged.told;
  IF told.verdict IS NOT NULL OR told.problem <> 0 THEN
    RETURN told;
  END IF;
  IF NOT pg_try_advisory_xact_lock(onceguard.lock_of(i.digest)) THEN
    told.problem := 1;
    RETURN told;
  END IF;
  r := onceguard.look_up(i.digest);
  judged := onceguard.judge_claim(r, i, place, at_ms, expiry_paused);
  told := judged.told;
  IF told.verdict IS NULL AND told.problem = 0 THEN
    told := onceguard.lease_out(r, i, place, at_ms, expiry_paused, judged.into_state,
                                judged.was_unknown);
  END IF;
  RETURN told;
END
$$;

-- The time layout has no unique index across its partitions: there a transaction must see what
-- others committed before it got a record's lock.
CREATE FUNCTION onceguard.check_isolation(layout text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF layout LIKE 'time%' AND current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE 'onceguard: the time layout needs transactions that are READ COMMITTED'
      USING ERRCODE = '0A000',
            HINT = 'Use BEGIN ISOLATION LEVEL READ COMMITTED, or the plain or hash layout.';
  END IF;
END
$$;
