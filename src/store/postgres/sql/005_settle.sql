-- Settles: how the holder of a lease ends it, as the state machine says.

CREATE FUNCTION onceguard.ended(r onceguard.records, into_state smallint, retention bigint,
                                at_ms bigint) RETURNS onceguard.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  r.state := into_state;
  r.deadline_at := at_ms;
  r.settled_at := at_ms;
  r.expires_at := at_ms + retention;
  RETURN r;
END
$$;

-- It counts as absent, but keeps token, attempt and claim id for an hour.
CREATE FUNCTION onceguard.released(r onceguard.records, at_ms bigint) RETURNS onceguard.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  r := onceguard.ended(r, 6::smallint, 3600000, at_ms);
  r.deadline_at := 0;
  r.retry_at := 0;
  r.unknown_retention := 0;
  r.failures := 0;
  r.why := 0;
  r.why_status := 0;
  r.kept := 4;
  r.status := NULL;
  r.headers := NULL;
  r.body := NULL;
  r.step := NULL;
  r.progress := NULL;
  r.by_operator := false;
  r.by_application := false;
  r.incident := false;
  r.earlier_unknown := false;
  r.print_method := '';
  r.print := onceguard.no_print();
  RETURN r;
END
$$;

-- The lease is over, and nobody knows what became of the work.
CREATE FUNCTION onceguard.unknown_now(r onceguard.records, i onceguard.settle_item,
                                      at_ms bigint) RETURNS onceguard.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF NOT r.earlier_unknown AND i.why <> 0 THEN
    r.why := i.why;
    r.why_status := i.why_status;
  END IF;
  r.state := 2;
  r.deadline_at := at_ms;
  r.expires_at := CASE WHEN r.unknown_retention = 0 THEN 0 ELSE at_ms + r.unknown_retention END;
  r.retry_at := at_ms + i.probe_pause;
  RETURN r;
END
$$;

CREATE FUNCTION onceguard.about(r onceguard.records, i onceguard.settle_item)
RETURNS onceguard.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF i.scope IS NOT NULL THEN
    r.scope := i.scope;
    r.scope_kind := i.scope_kind;
    r.key := i.key;
    r.method := i.method;
    r.path := i.path;
    r.route := i.route;
    r.print_method := i.print_method;
    r.print := i.print;
    r.run_timeout := i.run_timeout;
  END IF;
  RETURN r;
END
$$;

CREATE FUNCTION onceguard.with_answer(r onceguard.records, i onceguard.settle_item)
RETURNS onceguard.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  r.kept := i.kept;
  r.status := i.status;
  r.headers := CASE WHEN i.status IS NOT NULL THEN coalesce(i.headers, '{}') END;
  r.body := CASE WHEN i.status IS NOT NULL THEN coalesce(i.body, '') END;
  RETURN r;
END
$$;

-- What the settle makes of its own record.
CREATE FUNCTION onceguard.settled(r onceguard.records, i onceguard.settle_item, at_ms bigint)
RETURNS onceguard.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF i.kind = 0 THEN
    r := onceguard.ended(r, 4::smallint, i.retention, at_ms);
    r := onceguard.about(r, i);
    r := onceguard.with_answer(r, i);
    r.why := 0;
    r.why_status := 0;
    r.failures := 0;
    r.earlier_unknown := false;
    r.by_application := coalesce(i.by_application, false);
    r.step := NULL;
    r.progress := NULL;
  ELSIF i.kind = 1 THEN
    r := onceguard.ended(r, 5::smallint, i.retention, at_ms);
    r.retry_at := at_ms + least(i.backoff << least(r.failures, 30), i.backoff_max);
    r.failures := r.failures + 1;
    IF NOT r.earlier_unknown THEN
      r.why := i.why;
      r.why_status := i.why_status;
    END IF;
  -- What this lease did not do, an earlier one may have done; given up from `started`, the work
  -- had provably not begun. Steps that are done are forgotten by the application alone.
  ELSIF NOT r.earlier_unknown AND (i.kind = 2 OR r.state = 1)
        AND (r.step IS NULL OR coalesce(i.by_application, false)) THEN
    r := onceguard.released(r, at_ms);
  ELSE
    r := onceguard.unknown_now(r, i, at_ms);
  END IF;
  RETURN r;
END
$$;

-- The record as its lease had left it, for a settle that finds that it is gone.
CREATE FUNCTION onceguard.remade(i onceguard.settle_item, at_ms bigint)
RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r onceguard.records;
BEGIN
  r.digest := i.digest;
  r.born := onceguard.birth(at_ms, onceguard.next_lease());
  r.token := i.token;
  r.nonce := i.nonce;
  r.state := 2;
  r.attempt := 1;
  r.claimed_at := at_ms;
  r.deadline_at := 0;
  r.retry_at := 0;
  r.settled_at := 0;
  r.expires_at := 0;
  r.unknown_retention := 0;
  r.failures := 0;
  r.why := 0;
  r.why_status := 0;
  r.kept := 4;
  r.by_operator := false;
  r.by_application := false;
  r.incident := true;
  r.earlier_unknown := false;
  r.maybe_repeated := false;
  RETURN onceguard.about(r, i);
END
$$;

CREATE FUNCTION onceguard.settle_told(place integer, outcome smallint, r onceguard.records)
RETURNS onceguard.settle_answer
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  told onceguard.settle_answer;
BEGIN
  told.item := place;
  told.problem := 0;
  told.outcome := outcome;
  IF r.digest IS NOT NULL THEN
    told.status := r.status;
    told.headers := r.headers;
    told.body := r.body;
    told.kept := r.kept;
  END IF;
  RETURN told;
END
$$;

-- Ends a record that is not there (any more). A release remembers the claim id, so that the
-- claim is refused should it arrive after its release; everything else is an incident.
CREATE FUNCTION onceguard.settle_missing(was onceguard.records, i onceguard.settle_item,
                                         place integer, at_ms bigint)
RETURNS onceguard.settle_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  told onceguard.settle_answer := onceguard.settle_told(place, 0::smallint, NULL);
  r onceguard.records;
BEGIN
  IF i.kind = 2 THEN
    IF was.digest IS NOT NULL OR i.scope IS NULL THEN
      RETURN told;
    END IF;
    r := onceguard.released(onceguard.remade(i, at_ms), at_ms);
  ELSIF i.scope IS NULL THEN
    told.problem := 3;
    RETURN told;
  ELSE
    told.outcome := 1;
    r := onceguard.settled(onceguard.remade(i, at_ms), i, at_ms);
  END IF;
  told.problem := CASE WHEN onceguard.put(was, r) THEN 0 ELSE 1 END;
  RETURN told;
END
$$;

-- The holder's complete meets what its application has completed in its own transaction. An
-- answer that the application gave is the answer; where it gave none, the holder's is added, once.
CREATE FUNCTION onceguard.complete_again(was onceguard.records, i onceguard.settle_item,
                                         place integer)
RETURNS onceguard.settle_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  told onceguard.settle_answer := onceguard.settle_told(place, 0::smallint, NULL);
BEGIN
  IF was.kept = 4 AND i.kept <> 4 THEN
    told.problem := CASE WHEN onceguard.put(was, onceguard.with_answer(was, i))
                         THEN 0 ELSE 1 END;
  ELSIF was.status IS NOT NULL
        AND (was.status, was.headers, was.body) IS DISTINCT FROM
            (i.status, coalesce(i.headers, '{}'), coalesce(i.body, '')) THEN
    told := onceguard.settle_told(place, 0::smallint, was);
    told.state := 4;
  END IF;
  RETURN told;
END
$$;

-- The holder's own settle meets a record that is settled.
CREATE FUNCTION onceguard.settle_settled(was onceguard.records, i onceguard.settle_item,
                                         place integer, at_ms bigint)
RETURNS onceguard.settle_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  told onceguard.settle_answer := onceguard.settle_told(place, 0::smallint, NULL);
  by_application boolean := coalesce(i.by_application, false);
  r onceguard.records;
BEGIN
  IF i.kind = 0 AND was.state = 4 AND NOT was.by_operator THEN
    IF was.by_application AND NOT by_application THEN
      RETURN onceguard.complete_again(was, i, place);
    END IF;
    RETURN told;
  ELSIF i.kind = 1 AND was.state = 5 OR i.kind = 2 AND was.state = 6 THEN
    RETURN told;
  ELSIF i.kind = 0 AND was.state = 6 AND NOT by_application THEN
    IF i.scope IS NULL THEN  -- a released record has no fingerprint: the subject brings it
      told.problem := 3;
      RETURN told;
    END IF;
    r := onceguard.settled(was, i, at_ms);
    r.incident := true;
    told.outcome := 1;
    told.problem := CASE WHEN onceguard.put(was, r) THEN 0 ELSE 1 END;
    RETURN told;
  END IF;
  told := onceguard.settle_told(place, 2::smallint, was);
  told.state := onceguard.observed(was.state, was.deadline_at, at_ms);
  RETURN told;
END
$$;

-- One settle, whatever it meets. The caller holds the record's lock.
CREATE FUNCTION onceguard.settle_locked(i onceguard.settle_item, place integer, at_ms bigint,
                                        expiry_paused boolean) RETURNS onceguard.settle_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  was onceguard.records := onceguard.look_up(i.digest);
  by_claim_id boolean := i.token = 0 AND i.kind = 2;
  gone boolean := was.digest IS NULL OR onceguard.expired(
    was.state, was.deadline_at, was.expires_at, at_ms, expiry_paused);
  told onceguard.settle_answer := onceguard.settle_told(place, 0::smallint, NULL);
  r onceguard.records;
BEGIN
  IF was.digest IS NOT NULL AND NOT onceguard.readable(was) THEN
    told.problem := 2;
  ELSIF was.nonce = i.nonce AND (by_claim_id OR was.token = i.token) THEN
    IF was.state > 3 THEN
      RETURN onceguard.settle_settled(was, i, place, at_ms);
    END IF;
    r := onceguard.settled(was, i, at_ms);
    r.born := onceguard.born_again(was, gone, at_ms);
    told.problem := CASE WHEN onceguard.put(was, r) THEN 0 ELSE 1 END;
  ELSIF gone AND NOT coalesce(i.by_application, false) THEN
    RETURN onceguard.settle_missing(was, i, place, at_ms);
  ELSIF NOT by_claim_id THEN  -- by its claim id: that claim holds nothing here
    told := onceguard.settle_told(place, 2::smallint, was);
    told.state := onceguard.observed(was.state, was.deadline_at, at_ms);
  END IF;
  RETURN told;
END
$$;

CREATE FUNCTION onceguard.settle_one(i onceguard.settle_item, place integer, at_ms bigint,
                                     expiry_paused boolean) RETURNS onceguard.settle_answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  told onceguard.settle_answer;
BEGIN
  IF pg_try_advisory_xact_lock(onceguard.lock_of(i.digest)) THEN
    RETURN onceguard.settle_locked(i, place, at_ms, expiry_paused);
  END IF;
  told.item := place;
  told.problem := 1;
  RETURN told;
END
$$;
