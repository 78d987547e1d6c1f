-- A lease that was abandoned is not renewed any more: a renewal that was on its way behind that
-- must not revive it. Only an abandoned record that is unsettled has a time to ask again.
CREATE OR REPLACE FUNCTION onceguard.extend_one(
  i onceguard.extend_item, place integer, at_ms bigint)
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
  IF was.digest IS NULL OR was.nonce <> i.nonce OR was.token <> i.token OR was.state > 3
     OR was.retry_at <> 0 THEN
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
