-- A completion behind an operator's release is the holder's word: said once more, it is done, not
-- stale.

CREATE OR REPLACE FUNCTION onceguard.settle_settled(was onceguard.records, i onceguard.settle_item,
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
    r.by_operator := false;
    told.outcome := 1;
    told.problem := CASE WHEN onceguard.put(was, r) THEN 0 ELSE 1 END;
    RETURN told;
  END IF;
  told := onceguard.settle_told(place, 2::smallint, was);
  told.state := onceguard.observed(was.state, was.deadline_at, at_ms);
  RETURN told;
END
$$;
