-- The tables, the sequence, and the row types that calls and answers travel in.
-- Points in time are milliseconds since the epoch of the database's clock, durations
-- milliseconds, enumerations the persistent numbers of the record's fields. Strings from outside
-- are bytea: what is no valid text must not fail the batch that it came with.

DO $$
BEGIN
  -- An administrator may have made it for an owner who may not make schemas.
  IF to_regnamespace('onceguard') IS NULL THEN
    CREATE SCHEMA onceguard;
  END IF;
END
$$;
COMMENT ON SCHEMA onceguard IS 'Onceguard: an operation that arrives more than once takes effect once';

-- One row. identity: whose memory this is.
CREATE TABLE onceguard.meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  identity text NOT NULL,
  schema_version integer NOT NULL,
  minimum_version integer NOT NULL,
  write_format smallint NOT NULL,
  layout text NOT NULL,
  partition_length bigint NOT NULL,
  forgotten bigint NOT NULL
);

-- Counts the leases ever given. No cache: a session must not hold numbers back while others give
-- out later ones.
CREATE SEQUENCE onceguard.tokens AS bigint MINVALUE 0 START 0 CACHE 1;

-- A token is this base plus the next of those numbers. The base is the clock in microseconds, and
-- is raised to it again where a promoted, restored or copied server may have forgotten the last
-- numbers. incarnation: for which server it was chosen. Both are sequences as these are read and
-- set outside of transactions: an application's may be open for long.
CREATE SEQUENCE onceguard.token_base AS bigint MINVALUE 0 START 0 CACHE 1;
CREATE SEQUENCE onceguard.incarnation AS bigint MINVALUE 0 START 0 CACHE 1;

-- One row a (scope, key). born: the first claim's time, 20 bits up, and the low bits of its
-- number: the order of first claims, and what the time layout partitions by. The claim leaves
-- room in the page for the settle (fillfactor).
DO $layouts$
DECLARE
  layout text := coalesce(nullif(current_setting('onceguard.layout', true), ''), 'plain');
  columns text := $columns$
    born bigint NOT NULL,
    token bigint NOT NULL,
    deadline_at bigint NOT NULL,
    retry_at bigint NOT NULL,
    claimed_at bigint NOT NULL,
    settled_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    unknown_retention bigint NOT NULL,
    run_timeout bigint NOT NULL,
    checksum bigint NOT NULL,
    attempt integer NOT NULL,
    failures integer NOT NULL,
    format smallint NOT NULL,
    state smallint NOT NULL,
    why smallint NOT NULL,
    why_status smallint NOT NULL,
    kept smallint NOT NULL,
    status smallint,
    by_operator boolean NOT NULL,
    by_application boolean NOT NULL,
    incident boolean NOT NULL,
    earlier_unknown boolean NOT NULL,
    maybe_repeated boolean NOT NULL,
    digest bytea NOT NULL,
    nonce bytea NOT NULL,
    scope bytea NOT NULL,
    scope_kind bytea NOT NULL,
    key bytea NOT NULL,
    method bytea NOT NULL,
    path bytea NOT NULL,
    route bytea NOT NULL,
    print_method bytea NOT NULL,
    print bytea NOT NULL,
    headers bytea[],
    body bytea,
    step text,
    progress bytea
  $columns$;
  pieces integer;
  piece_length bigint := 0;
  settings constant text := '(fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05)';
BEGIN
  IF layout = 'plain' THEN
    EXECUTE format('CREATE TABLE onceguard.records (%s, PRIMARY KEY (digest)) WITH %s',
                   columns, settings);
  ELSIF layout ~ '^hash:[0-9]{1,4}$' THEN
    pieces := substr(layout, 6)::integer;
    IF pieces < 2 OR pieces > 1024 THEN
      RAISE 'onceguard: layout %: from hash:2 to hash:1024', layout USING ERRCODE = '22023';
    END IF;
    EXECUTE format('CREATE TABLE onceguard.records (%s, PRIMARY KEY (digest))
                    PARTITION BY HASH (digest)', columns);
    FOR i IN 0 .. pieces - 1 LOOP
      EXECUTE format('CREATE TABLE onceguard.records_%s PARTITION OF onceguard.records
                      FOR VALUES WITH (MODULUS %s, REMAINDER %s) WITH %s',
                     lpad(i::text, 4, '0'), pieces, i, settings);
    END LOOP;
  ELSIF layout ~ '^time(:[0-9]{1,4}[mhd])?$' THEN
    piece_length := extract(epoch FROM coalesce(nullif(substr(layout, 6), ''), '1d')::interval)
                    * 1000;
    IF piece_length < 60000 THEN
      RAISE 'onceguard: layout %: a partition is a minute at least', layout
        USING ERRCODE = '22023';
    END IF;
    -- What is right across partitions is kept by the locks, not by this key.
    EXECUTE format('CREATE TABLE onceguard.records (%s, PRIMARY KEY (digest, born))
                    PARTITION BY RANGE (born)', columns);
    EXECUTE format('CREATE TABLE onceguard.records_rest PARTITION OF onceguard.records DEFAULT
                    WITH %s', settings);
  ELSE
    RAISE 'onceguard: no such layout: %: plain, time, time:1d or hash:N', layout
      USING ERRCODE = '22023';
  END IF;
  PERFORM setval('onceguard.token_base',
                 floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  INSERT INTO onceguard.meta
    VALUES (true, replace(gen_random_uuid()::text, '-', ''), 0, 0, 1, layout, piece_length, 0);
END
$layouts$;

CREATE INDEX records_by_birth ON onceguard.records (born);

-- One claim of a batch.
CREATE TYPE onceguard.claim_item AS (
  digest bytea, nonce bytea,
  scope bytea, scope_kind bytea, key bytea, method bytea, path bytea, route bytea,
  print_method bytea, print bytea, run_timeout bigint,
  lease bigint, into_started boolean,
  unknown smallint,            -- 0 hold, 1 probe, 2 rerun
  probe_after bigint, unknown_retention bigint, maybe_repeated boolean
);
-- What it met. problem: 0 none, 1 locked (try this item again), 2 unreadable record.
CREATE TYPE onceguard.claim_answer AS (
  item integer,                -- its place in the batch, from 1
  problem smallint,
  verdict smallint,            -- 0 run, 1 replay, 2 busy, 3 mismatch, 4 backoff, 5 unknown,
                               -- 6 remake_fingerprint, 7 refused
  token bigint, attempt integer, probe boolean, started boolean,         -- run
  status smallint, headers bytea[], body bytea, kept smallint,           -- replay
  retry_after bigint, retention_left bigint, since bigint,
  why smallint, why_status smallint,                                     -- unknown
  print_method bytea                                                     -- remake_fingerprint
);

-- One settle of a batch. A status of null: without an answer. A scope of null: without subject.
CREATE TYPE onceguard.settle_item AS (
  digest bytea, token bigint, nonce bytea,
  kind smallint,               -- 0 complete, 1 fail, 2 release, 3 abandon
  status smallint, headers bytea[], body bytea, kept smallint,
  retention bigint, backoff bigint, backoff_max bigint,
  why smallint, why_status smallint, probe_pause bigint,
  scope bytea, scope_kind bytea, key bytea, method bytea, path bytea, route bytea,
  print_method bytea, print bytea, run_timeout bigint,
  by_application boolean       -- told in the transaction of the effect; null: no
);
-- problem: as above, and 3: the record is gone and the item has no subject to write it anew.
CREATE TYPE onceguard.settle_answer AS (
  item integer, problem smallint,
  outcome smallint,            -- 0 done, 1 incident, 2 stale
  state smallint,              -- the observed one (7: unknown), where there is something to tell
  status smallint, headers bytea[], body bytea, kept smallint
);

CREATE TYPE onceguard.extend_item AS (
  digest bytea, token bigint, nonce bytea, lease bigint, dispatch boolean
);
CREATE TYPE onceguard.extend_answer AS (item integer, problem smallint, extended boolean);

CREATE TYPE onceguard.resolve_answer AS (
  problem smallint,
  outcome smallint,            -- 0 done, 1 not found, 2 running, 3 already completed
  retry_after bigint, forgets_answer boolean
);
