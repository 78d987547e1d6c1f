-- How many records there are, in pieces of 20,000 in the order of the first claim: a large table is
-- not counted within the timeout of one statement. `onceguard.counts` stays for programs of the
-- version before.

-- A last row without a state says that there may be more behind the `born` in its second column.
CREATE FUNCTION onceguard.counts_piece(after bigint, expiry_paused boolean)
RETURNS TABLE (state smallint, records bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $$
DECLARE
  at_ms bigint := onceguard.now_ms();
  most constant integer := 20000;
BEGIN
  RETURN QUERY
    SELECT p.seen, CASE WHEN p.seen IS NULL THEN max(p.born)
                        ELSE count(*) FILTER (WHERE NOT p.over) END
    FROM (SELECT r.born, onceguard.observed(r.state, r.deadline_at, at_ms) AS seen,
                 onceguard.expired(r.state, r.deadline_at, r.expires_at, at_ms,
                                   expiry_paused) AS over
          FROM onceguard.records r WHERE r.born > after ORDER BY r.born LIMIT most) p
    GROUP BY GROUPING SETS ((p.seen), ())
    HAVING p.seen IS NOT NULL OR count(*) = most
    ORDER BY p.seen NULLS LAST;
END
$$;

DO $grants$
DECLARE
  name constant text := 'onceguard.counts_piece(bigint, boolean)';
BEGIN
  EXECUTE 'REVOKE ALL ON FUNCTION ' || name || ' FROM PUBLIC';
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || name || ' TO onceguard_gateway';
  END IF;
END
$grants$;
