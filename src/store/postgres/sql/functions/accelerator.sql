-- What copies of completed records, kept by an accelerator in front of this database, depend on. An
-- accelerator finds them by the epoch; what was kept in an earlier one is never found again.

-- What a process polls each second. After a time in which no process did, the epoch is another one:
-- the database may be a copy from before, put back. origin: whose memory this is, in which database,
-- since which start of the server, and on which timeline, where that may be asked. forgotten, generation: as in vitals(). Of the accelerator, what was noted of it.
CREATE OR REPLACE FUNCTION onceguard.accelerator_epoch(
  of_identity text, OUT epoch text, OUT origin text, OUT forgotten bigint, OUT generation bigint,
  OUT now bigint, OUT noted_generation bigint, OUT noted_clock_ahead bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at_most constant bigint := 15000;
BEGIN
  now := onceguard.now_ms();
  UPDATE onceguard.meta m SET epoch_read_at = now,
    epoch = CASE WHEN abs(now - m.epoch_read_at) > at_most THEN onceguard.new_name()
                 ELSE m.epoch END
  WHERE abs(now - m.epoch_read_at) > at_most / 3;
  SELECT m.epoch,
         concat_ws('/', m.identity,
                   (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
                   extract(epoch FROM pg_postmaster_start_time()), onceguard.timeline()),
         m.forgotten,
         m.leases + coalesce((SELECT sum(c.leases) FROM onceguard.lease_counts c), 0),
         a.generation, a.clock_ahead
    INTO STRICT epoch, origin, forgotten, generation, noted_generation, noted_clock_ahead
  FROM onceguard.meta m LEFT JOIN onceguard.accelerators a ON a.identity = of_identity;
END
$$;

-- The server's timeline as of its last checkpoint; empty if this server does not say.
CREATE OR REPLACE FUNCTION onceguard.timeline() RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT c.timeline_id::text FROM pg_control_checkpoint() c);
EXCEPTION
  WHEN insufficient_privilege OR undefined_function OR feature_not_supported THEN RETURN '';
END
$$;

-- Notes how it was found. distrusted: the epoch in which something may not be believed any more,
-- which ends that one and no later one; null: nothing is distrusted. Says whether an epoch ended.
CREATE OR REPLACE FUNCTION onceguard.note_accelerator(
  of_identity text, of_generation bigint, ahead bigint, distrusted text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at_ms constant bigint := onceguard.now_ms();
  month constant bigint := 2592000000;
BEGIN
  INSERT INTO onceguard.accelerators AS a VALUES (of_identity, of_generation, ahead, at_ms)
    ON CONFLICT (identity) DO UPDATE
    SET generation = of_generation, clock_ahead = ahead, noted_at = at_ms;
  DELETE FROM onceguard.accelerators a WHERE a.noted_at < at_ms - month;
  IF distrusted IS NULL THEN
    RETURN false;
  END IF;
  UPDATE onceguard.meta SET epoch = onceguard.new_name() WHERE epoch = distrusted;
  RETURN FOUND;
END
$$;
