-- A release by somebody who saw a record that was not completed does not end one that was completed
-- meanwhile: by its holder, by its application, or by another operator.
CREATE FUNCTION onceguard.resolve(of_digest bytea, completed boolean, status smallint,
                                  headers bytea[], body bytea, force boolean, retention bigint,
                                  expiry_paused boolean, keep_completed boolean)
RETURNS onceguard.resolve_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  stored onceguard.records;
BEGIN
  IF NOT pg_try_advisory_xact_lock(onceguard.lock_of(of_digest)) THEN
    RETURN ROW(1, 0, 0, false)::onceguard.resolve_answer;
  END IF;
  stored := onceguard.look_up(of_digest);
  IF keep_completed AND NOT completed AND stored.state = 4 AND onceguard.readable(stored)
     AND NOT onceguard.expired(stored.state, stored.deadline_at, stored.expires_at,
                               onceguard.now_ms(), expiry_paused) THEN
    RETURN ROW(0, 3, 0, false)::onceguard.resolve_answer;
  END IF;
  RETURN onceguard.resolve(of_digest, completed, status, headers, body, force, retention,
                           expiry_paused);
END
$$;

REVOKE ALL ON FUNCTION onceguard.resolve(bytea, boolean, smallint, bytea[], bytea, boolean, bigint,
                                         boolean, boolean) FROM PUBLIC;
DO $grants$
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    GRANT EXECUTE ON FUNCTION onceguard.resolve(bytea, boolean, smallint, bytea[], bytea, boolean,
                                                bigint, boolean, boolean) TO onceguard_gateway;
  END IF;
END
$grants$;
