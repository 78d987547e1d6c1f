-- What all calls share: the clock, the lock, the checksum, and the small questions about a record.

-- The one clock: leases and retention run by it.
CREATE FUNCTION onceguard.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint
$$;

-- The advisory lock of a record: the first 64 bits of its digest.
CREATE FUNCTION onceguard.lock_of(digest bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ('x' || encode(substring(digest FOR 8), 'hex'))::bit(64)::bigint
$$;

-- Over every column but itself. Hashes of rows keep their values from one version of PostgreSQL
-- to the next, as hash partitions need that too.
CREATE FUNCTION onceguard.checksum_of(r onceguard.records) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hash_record_extended(ROW(
    r.born, r.token, r.deadline_at, r.retry_at, r.claimed_at, r.settled_at, r.expires_at,
    r.unknown_retention, r.run_timeout, r.attempt, r.failures, r.format, r.state, r.why,
    r.why_status, r.kept, r.status, r.by_operator, r.by_application, r.incident,
    r.earlier_unknown, r.maybe_repeated, r.digest, r.nonce, r.scope, r.scope_kind, r.key,
    r.method, r.path, r.route, r.print_method, r.print, r.headers, r.body, r.step,
    r.progress), 0)
$$;

-- Can this version read it? What it can't is never taken for absent, and never changed.
CREATE FUNCTION onceguard.readable(r onceguard.records) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT r.format = 1 AND r.checksum = onceguard.checksum_of(r)
$$;

CREATE FUNCTION onceguard.expired(state smallint, deadline_at bigint, expires_at bigint,
                                  now bigint, expiry_paused boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT NOT expiry_paused AND expires_at > 0 AND now >= expires_at
         AND (state > 3 OR now >= deadline_at)
$$;

-- The state that an operator sees: 7 is unknown.
CREATE FUNCTION onceguard.observed(state smallint, deadline_at bigint, now bigint)
RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN state IN (2, 3) AND now >= deadline_at THEN 7::smallint ELSE state END
$$;

-- Nothing to compare with: the fingerprint of a released record.
CREATE FUNCTION onceguard.no_print() RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT decode(repeat('00', 32), 'hex') $$;

-- The number of the next lease (0, 1, …). Only asked for when a lease is given.
CREATE FUNCTION onceguard.next_lease() RETURNS bigint
LANGUAGE sql VOLATILE AS $$ SELECT nextval('onceguard.tokens') $$;

CREATE FUNCTION onceguard.birth(now bigint, number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (now << 20) | (number & 1048575) $$;

-- Where a record that had expired goes on, it is born anew: so nothing comes to life again in a
-- partition in which everything has expired.
CREATE FUNCTION onceguard.born_again(was onceguard.records, had_expired boolean, at_ms bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN had_expired THEN onceguard.birth(at_ms, was.born) ELSE was.born END
$$;

-- The record of one digest, as it stands now; all of null where there is none. The time layout
-- has no unique index across its partitions: the locks keep it to one row.
CREATE FUNCTION onceguard.look_up(of_digest bytea) RETURNS onceguard.records
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r onceguard.records;
BEGIN
  SELECT * INTO r FROM onceguard.records t WHERE t.digest = of_digest;
  RETURN r;
END
$$;

-- Writes a record: in the place of the one that was read, or anew where there was none. The
-- caller holds its lock. False: something else stands there now; nothing was written.
CREATE FUNCTION onceguard.put(was onceguard.records, r onceguard.records) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  written bigint;
BEGIN
  r.format := 1;
  r.checksum := onceguard.checksum_of(r);
  IF was.digest IS NULL THEN
    INSERT INTO onceguard.records SELECT r.* ON CONFLICT DO NOTHING;
  ELSE
    UPDATE onceguard.records t SET
      born = r.born, token = r.token, deadline_at = r.deadline_at, retry_at = r.retry_at,
      claimed_at = r.claimed_at, settled_at = r.settled_at, expires_at = r.expires_at,
      unknown_retention = r.unknown_retention, run_timeout = r.run_timeout,
      checksum = r.checksum, attempt = r.attempt, failures = r.failures, format = r.format,
      state = r.state, why = r.why, why_status = r.why_status, kept = r.kept,
      status = r.status, by_operator = r.by_operator, by_application = r.by_application,
      incident = r.incident, earlier_unknown = r.earlier_unknown,
      maybe_repeated = r.maybe_repeated, nonce = r.nonce, scope = r.scope,
      scope_kind = r.scope_kind, key = r.key, method = r.method, path = r.path,
      route = r.route, print_method = r.print_method, print = r.print, headers = r.headers,
      body = r.body, step = r.step, progress = r.progress
    WHERE t.digest = was.digest AND t.born = was.born AND t.token = was.token
      AND t.nonce = was.nonce AND t.state = was.state AND t.checksum = was.checksum;
  END IF;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written = 1;
END
$$;
