-- The clock, the lock, and the small questions about a record.

-- The one clock: leases, tokens and retention run by it.
CREATE OR REPLACE FUNCTION onceguard.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint
$$;

-- The advisory lock of a record: the first 64 bits of its digest, so that no lock of an application
-- that locks by row numbers is this one.
CREATE OR REPLACE FUNCTION onceguard.lock_of(digest bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ('x' || encode(substring(digest FOR 8), 'hex'))::bit(64)::bigint
$$;

CREATE OR REPLACE FUNCTION onceguard.expired(state onceguard.state, deadline_at bigint,
                                             expires_at bigint, now bigint, expiry_paused boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT NOT expiry_paused AND expires_at > 0 AND now >= expires_at
         AND (state > 'probing' OR now >= deadline_at)
$$;

-- The state that an operator sees, by its name.
CREATE OR REPLACE FUNCTION onceguard.observed(state onceguard.state, deadline_at bigint, now bigint)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN state IN ('in_progress', 'probing') AND now >= deadline_at THEN 'unknown'
              ELSE state::text END
$$;

-- What a part of a record ends with, so that damage and mixed up parts show.
CREATE OR REPLACE FUNCTION onceguard.seal(digest bytea, claim_id bytea, content bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(sha256(digest || claim_id || content), 1, 8)
$$;

-- Whether this version can read the record. If not, it is never taken for absent, nor changed.
CREATE OR REPLACE FUNCTION onceguard.readable(r onceguard.records) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(r.subject, 1, 2) = '\x0173' AND substr(r.subject, length(r.subject) - 7)
           = onceguard.seal(r.digest, r.claim_id,
                            substr(r.subject, 1, greatest(length(r.subject) - 8, 0)))
     AND (r.outcome IS NULL
          OR substr(r.outcome, 1, 2) = '\x016f' AND substr(r.outcome, length(r.outcome) - 7)
             = onceguard.seal(r.digest, r.claim_id,
                              substr(r.outcome, 1, greatest(length(r.outcome) - 8, 0))))
$$;

-- A point in time for people. What is later than the year 9999 is its end.
CREATE OR REPLACE FUNCTION onceguard.moment(at_ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT to_timestamp(least(at_ms, 253402300799999) / 1000.0)
$$;
