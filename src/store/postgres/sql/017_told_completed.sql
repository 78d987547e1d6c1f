-- The holder's complete meets what its application has completed in its own transaction. An
-- answer that the application gave is the answer; where it gave none, the holder's is added, once.
-- It is told that the record was completed before: the retention is the application's, not its own.
CREATE OR REPLACE FUNCTION onceguard.complete_again(was onceguard.records,
                                                    i onceguard.settle_item, place integer)
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
  END IF;
  told.state := 4;
  RETURN told;
END
$$;
