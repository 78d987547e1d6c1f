-- What copies of completed records, kept by an accelerator in front of this database, depend on.
-- An accelerator finds them by the epoch; what was kept in an earlier one is never found again.

CREATE FUNCTION onceguard.new_epoch() RETURNS text
LANGUAGE sql VOLATILE AS $$
  -- Random, as a restored copy of this database would count to the same numbers once more.
  SELECT replace(gen_random_uuid()::text, '-', '')
$$;

ALTER TABLE onceguard.meta ADD COLUMN epoch text;
UPDATE onceguard.meta SET epoch = onceguard.new_epoch();
ALTER TABLE onceguard.meta ALTER COLUMN epoch SET NOT NULL;

-- Whoever releases a completed record ends the epoch, in the same transaction: also a process that
-- knows of no accelerator, or a person with psql.
CREATE FUNCTION onceguard.begin_epoch() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.epoch := onceguard.new_epoch();
  RETURN NEW;
END
$$;
CREATE TRIGGER begin_epoch BEFORE UPDATE OF forgotten ON onceguard.meta
  FOR EACH ROW EXECUTE FUNCTION onceguard.begin_epoch();

CREATE FUNCTION onceguard.records_are_gone() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE onceguard.meta SET epoch = onceguard.new_epoch();
  RETURN NULL;
END
$$;
CREATE TRIGGER records_are_gone AFTER TRUNCATE ON onceguard.records
  FOR EACH STATEMENT EXECUTE FUNCTION onceguard.records_are_gone();

-- How each accelerator was found the last time that somebody noted it, so that one which came back
-- from an older copy is noticed also where nobody watched.
CREATE TABLE onceguard.accelerators (
  identity text PRIMARY KEY,
  generation bigint NOT NULL,
  clock_ahead bigint NOT NULL,  -- of this database's clock
  noted_at bigint NOT NULL
);

-- What a process looks at each second. place: whose memory this is; forgotten: as in vitals();
-- generation: this database's own. Of the accelerator, what was noted of it, or nulls.
CREATE FUNCTION onceguard.accelerator_epoch(of_identity text)
RETURNS TABLE (epoch text, place text, forgotten bigint, generation bigint, now bigint,
               noted_generation bigint, noted_clock_ahead bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  given bigint;
BEGIN
  SELECT t.last_value + t.is_called::integer INTO STRICT given FROM onceguard.tokens t;
  RETURN QUERY
    SELECT m.epoch, m.identity || '/' || onceguard.this_incarnation(), m.forgotten, given,
           onceguard.now_ms(), a.generation, a.clock_ahead
    FROM onceguard.meta m LEFT JOIN onceguard.accelerators a ON a.identity = of_identity;
END
$$;

-- Notes how it was found. doubted: the epoch in which something may not be believed any more, which
-- ends that one and no later one; null: nothing is doubted. Tells whether an epoch ended.
CREATE FUNCTION onceguard.note_accelerator(of_identity text, of_generation bigint, ahead bigint,
                                           doubted text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at_ms constant bigint := onceguard.now_ms();
  month constant bigint := 2592000000;
BEGIN
  INSERT INTO onceguard.accelerators AS a VALUES (of_identity, of_generation, ahead, at_ms)
    ON CONFLICT (identity) DO UPDATE
    SET generation = of_generation, clock_ahead = ahead, noted_at = at_ms;
  DELETE FROM onceguard.accelerators a WHERE a.noted_at < at_ms - month;
  IF doubted IS NULL THEN
    RETURN false;
  END IF;
  UPDATE onceguard.meta SET epoch = onceguard.new_epoch() WHERE epoch = doubted;
  RETURN FOUND;
END
$$;

REVOKE ALL ON FUNCTION onceguard.new_epoch(), onceguard.begin_epoch(),
  onceguard.records_are_gone(), onceguard.accelerator_epoch(text),
  onceguard.note_accelerator(text, bigint, bigint, text) FROM PUBLIC;

DO $grants$
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    GRANT EXECUTE ON FUNCTION onceguard.accelerator_epoch(text),
      onceguard.note_accelerator(text, bigint, bigint, text) TO onceguard_gateway;
  END IF;
END
$grants$;
