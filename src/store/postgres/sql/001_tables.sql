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

-- Lengths and ranges are checked by domains. A CHECK of the table would be parsed anew, and run for
-- columns that stay as they are, with each statement.
CREATE DOMAIN onceguard.digest AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN onceguard.claim_id AS bytea CHECK (octet_length(VALUE) = 16);
CREATE DOMAIN onceguard.sealed_subject AS bytea CHECK (octet_length(VALUE) BETWEEN 88 AND 1048576);
CREATE DOMAIN onceguard.sealed_outcome AS bytea CHECK (octet_length(VALUE) >= 11);
CREATE DOMAIN onceguard.not_negative AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN onceguard.small_count AS integer CHECK (VALUE >= 0);
CREATE DOMAIN onceguard.record_flags AS smallint CHECK (VALUE BETWEEN 1 AND 31);
CREATE DOMAIN onceguard.unknown_reason AS smallint CHECK (VALUE BETWEEN 1 AND 7);
CREATE DOMAIN onceguard.status_code AS smallint CHECK (VALUE > 0);

-- One row a (scope, key). The claim leaves room in the page for the settle (fillfactor). What has a
-- fixed length stands first, so that nothing is lost to alignment.
CREATE TABLE onceguard.records (
  token onceguard.not_negative NOT NULL,
  deadline_at onceguard.not_negative NOT NULL,  -- of the lease; once settled, of the settle
  expires_at onceguard.not_negative NOT NULL,   -- 0: never
  state onceguard.state NOT NULL,
  digest onceguard.digest PRIMARY KEY,
  claim_id onceguard.claim_id NOT NULL,
  subject onceguard.sealed_subject NOT NULL,
  outcome onceguard.sealed_outcome,
  -- Rare: null otherwise.
  flags onceguard.record_flags,                 -- 1 by an operator, 2 incident, 4 maybe repeated,
                                                -- 8 earlier lease unknown, 16 by the application
  why onceguard.unknown_reason,
  why_status onceguard.status_code,
  attempt onceguard.small_count,                -- null: the first
  failures onceguard.small_count,
  retention onceguard.not_negative,             -- of the answer, if not a day
  unknown_retention onceguard.not_negative,
  first_token onceguard.not_negative,           -- of the first claim, if that was another
  claimed_at onceguard.not_negative,            -- if not when the token was made
  retry_at onceguard.not_negative,
  step text,                                    -- of work in steps: the last one that is done
  progress bytea
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- One row. identity: whose memory this is. epoch: what copies of completed records depend on.
-- floor: later tokens are above it, also where the clock was set back; raises: how often it was
-- raised, once a minute at most, an age that no step of the clock changes. leases: how many batches
-- of leases were granted through connections that are no longer counted. epoch_read_at: within some
-- seconds, by any process.
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
  raises bigint NOT NULL,
  epoch_read_at bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO onceguard.meta
  VALUES (true, replace(gen_random_uuid()::text, '-', ''), replace(gen_random_uuid()::text, '-', ''),
          0, 0, '', 0, 0, 0, 0, 0);

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

-- Leases that a transaction has promised to settle: within that transaction only.
CREATE UNLOGGED TABLE onceguard.must_settle (
  digest onceguard.digest NOT NULL, token bigint NOT NULL, claim_id onceguard.claim_id NOT NULL);

-- What may need a person: records that were left unknown, whose lease ended without a settle, or
-- that could not be read. Notes of the rare paths and of the sweep, so that no index of records is
-- needed; the record decides.
CREATE TABLE onceguard.attention (digest onceguard.digest PRIMARY KEY);

-- The page and the note with which the next call of the sweep begins.
CREATE TABLE onceguard.sweep_position (page bigint NOT NULL, note bytea NOT NULL)
  WITH (fillfactor = 50);
INSERT INTO onceguard.sweep_position VALUES (0, '');

-- How each accelerator was found the last time that somebody noted it, so that one which came back
-- from an older copy is noticed also where nobody watched.
CREATE TABLE onceguard.accelerators (
  identity text PRIMARY KEY,
  generation bigint NOT NULL,
  clock_ahead bigint NOT NULL,  -- of this database's clock
  noted_at bigint NOT NULL
);
