-- The tables. Points in time are milliseconds of the database's clock, durations milliseconds. What
-- a client knows of a record is encoded and sealed by it (docs/formats.md); what only the database
-- knows, and what SQL decides by, are columns. Columns of rare cases are null otherwise.

DO $$
BEGIN
  -- An administrator may have made it for an owner who may not make schemas.
  IF to_regnamespace('onceguard') IS NULL THEN
    CREATE SCHEMA onceguard;
  END IF;
END
$$;
COMMENT ON SCHEMA onceguard IS 'Onceguard: an operation that arrives more than once takes effect once';

CREATE TYPE onceguard.state AS ENUM (
  'started', 'in_progress', 'probing', 'completed', 'failed', 'released');

-- One row a (scope, key). The claim leaves room in the page for the settle (fillfactor).
CREATE TABLE onceguard.records (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  claim_id bytea NOT NULL CHECK (octet_length(claim_id) = 16),
  token bigint NOT NULL CHECK (token >= 0),
  deadline_at bigint NOT NULL CHECK (deadline_at >= 0),  -- of the lease; once settled, of the settle
  expires_at bigint NOT NULL CHECK (expires_at >= 0),    -- 0: never
  state onceguard.state NOT NULL,
  flags smallint CHECK (flags BETWEEN 1 AND 31),  -- 1 by an operator, 2 incident, 4 maybe repeated,
                                                  -- 8 earlier lease unknown, 16 by the application
  why smallint CHECK (why BETWEEN 1 AND 7),
  why_status smallint CHECK (why_status > 0),
  attempt integer CHECK (attempt >= 0),           -- null: the first
  failures integer CHECK (failures > 0),
  retention bigint CHECK (retention >= 0),        -- of the answer, if not a day
  unknown_retention bigint CHECK (unknown_retention > 0),
  first_token bigint CHECK (first_token >= 0),    -- of the first claim, if that was another
  claimed_at bigint CHECK (claimed_at >= 0),      -- if not when the token was made
  retry_at bigint CHECK (retry_at > 0),
  subject bytea NOT NULL CHECK (octet_length(subject) BETWEEN 88 AND 1048576),
  outcome bytea CHECK (octet_length(outcome) >= 11),
  step text,                                      -- of work in steps: the last one that is done
  progress bytea
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05);

-- One row. identity: whose memory this is. epoch: what copies of completed records depend on.
-- floor: later tokens are above it, also where the clock was set back; raises: how often it was
-- raised, once a minute at most, an age that no step of the clock changes. leases: how many batches
-- of leases were granted through connections that are no longer counted.
CREATE TABLE onceguard.meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  identity text NOT NULL,
  epoch text NOT NULL,
  schema_version integer NOT NULL,
  minimum_version integer NOT NULL,
  functions text NOT NULL,
  forgotten bigint NOT NULL,
  leases bigint NOT NULL,
  floor bigint NOT NULL,
  raises bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO onceguard.meta
  VALUES (true, replace(gen_random_uuid()::text, '-', ''), replace(gen_random_uuid()::text, '-', ''),
          0, 0, '', 0, 0, 0, 0);

-- How many batches of leases each connection of a gateway was granted, in the transactions that
-- granted them, and the floor's raises by then. A gateway that knows of more than it finds here
-- knows that this is an older copy.
CREATE TABLE onceguard.lease_counts (
  connection bigint PRIMARY KEY,
  leases bigint NOT NULL,
  raises bigint NOT NULL
) WITH (fillfactor = 50);

-- Who wants to be notified of settles, and until when: NOTIFY costs a commit each time.
CREATE TABLE onceguard.listeners (
  connection bigint PRIMARY KEY,
  until bigint NOT NULL
) WITH (fillfactor = 50);

-- The page with which the next call of the sweep begins.
CREATE TABLE onceguard.sweep_position (page bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO onceguard.sweep_position VALUES (0);

-- How each accelerator was found the last time that somebody noted it, so that one which came back
-- from an older copy is noticed also where nobody watched.
CREATE TABLE onceguard.accelerators (
  identity text PRIMARY KEY,
  generation bigint NOT NULL,
  clock_ahead bigint NOT NULL,  -- of this database's clock
  noted_at bigint NOT NULL
);
