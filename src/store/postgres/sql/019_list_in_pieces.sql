-- Operators' lists, in the order of the first claim: a call looks at 20,000 records or for a second
-- and says where the next goes on, since no index serves what operators look for. `onceguard.list`
-- stays for programs of the version before.

-- A last row of problem 3 says that there may be more behind its `born`.
CREATE FUNCTION onceguard.list_piece(of_state smallint, of_key bytea, of_scope bytea,
                                     after bigint, page integer, expiry_paused boolean)
RETURNS SETOF onceguard.found
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  until timestamptz := clock_timestamp() + interval '1 second';
  examine constant integer := 20000;
  examined integer := 0;
  chosen integer := 0;
  r onceguard.records;
  goes_on onceguard.found;
BEGIN
  goes_on.problem := 3;
  goes_on.born := after;
  FOR r IN SELECT * FROM onceguard.records t WHERE t.born > after ORDER BY t.born
           LIMIT examine + 1
  LOOP
    IF chosen = page OR examined = examine OR examined > 0 AND clock_timestamp() >= until THEN
      RETURN NEXT goes_on;
      RETURN;
    END IF;
    examined := examined + 1;
    goes_on.born := r.born;
    CONTINUE WHEN of_key IS NOT NULL AND r.key <> of_key
      OR of_scope IS NOT NULL AND r.scope <> of_scope
      OR of_state IS NOT NULL AND of_state <> onceguard.observed(r.state, r.deadline_at, at_ms)
      OR onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms, expiry_paused);
    chosen := chosen + 1;
    RETURN NEXT onceguard.shown(r, at_ms);
  END LOOP;
END
$$;

DO $grants$
DECLARE
  name constant text := 'onceguard.list_piece(smallint, bytea, bytea, bigint, integer, boolean)';
BEGIN
  EXECUTE 'REVOKE ALL ON FUNCTION ' || name || ' FROM PUBLIC';
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || name || ' TO onceguard_gateway';
  END IF;
END
$grants$;
