-- Whose memory this is: identity, epoch, what was granted, and the floor of the tokens.

CREATE OR REPLACE FUNCTION onceguard.new_name() RETURNS text
LANGUAGE sql VOLATILE AS $$
  -- Random, as a restored copy of this database would count to the same numbers once more.
  SELECT replace(gen_random_uuid()::text, '-', '')
$$;

CREATE OR REPLACE FUNCTION onceguard.memory_lost() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE 'onceguard: the database does not hold the memory that this process knows'
    USING ERRCODE = 'OG003';
END
$$;

-- The floor that a claim's statement has seen was raised before the claim was made.
CREATE OR REPLACE FUNCTION onceguard.floor_raised() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE 'onceguard: the floor of the tokens was raised meanwhile' USING ERRCODE = 'OG004';
END
$$;

-- Whether this memory has all that a process knows of it. A null is not known.
CREATE OR REPLACE FUNCTION onceguard.holds(known_floor bigint, known_connections bigint[],
                                           known_leases bigint[]) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT m.floor FROM onceguard.meta m) >= known_floor, true)
    AND NOT EXISTS (
      SELECT FROM unnest(known_connections, known_leases) AS k(connection, leases)
      LEFT JOIN onceguard.lease_counts c ON c.connection = k.connection
      WHERE c.leases IS NULL OR c.leases < k.leases)
$$;

-- Records that were thrown away: that is another memory from now on, for all who use it.
CREATE OR REPLACE FUNCTION onceguard.begin_another_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The tokens of the records that are gone are at most a minute ahead of the floor.
  UPDATE onceguard.meta
  SET epoch = onceguard.new_name(), identity = onceguard.new_name(),
      floor = greatest(floor + 60000000, onceguard.now_ms() * 1000);
  RETURN NULL;
END
$$;

-- Who releases a completed record ends the epoch in the same transaction: also a process that knows
-- of no accelerator, or a person with psql.
CREATE OR REPLACE FUNCTION onceguard.begin_epoch() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.epoch := onceguard.new_name();
  RETURN NEW;
END
$$;

-- The first call on a connection. minimum_version above known_version: this database belongs to a
-- newer Onceguard. older: the memory lacks what the process knows of it. Then it is another memory
-- from now on, also for those who knew less.
CREATE OR REPLACE FUNCTION onceguard.hello(
  known_version integer, known_identity text, known_floor bigint, known_connections bigint[],
  known_leases bigint[], OUT schema_version integer, OUT minimum_version integer,
  OUT identity text, OUT older boolean, OUT now bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT m.schema_version, m.minimum_version, m.identity
    INTO STRICT schema_version, minimum_version, identity FROM onceguard.meta m;
  now := onceguard.now_ms();
  older := false;
  IF minimum_version > known_version THEN
    RETURN;
  END IF;
  older := coalesce(identity = known_identity, false)
           AND NOT onceguard.holds(known_floor, known_connections, known_leases);
  IF older THEN
    -- The tokens that the copy lacks are at most a minute ahead of the floor that was known.
    UPDATE onceguard.meta m
    SET epoch = onceguard.new_name(), identity = onceguard.new_name(),
        floor = greatest(m.floor, known_floor + 60000000)
    WHERE m.identity = known_identity;
    SELECT m.identity INTO STRICT identity FROM onceguard.meta m;
  END IF;
END
$$;

-- What a process watches. Refused if an older copy stands under the same identity. Each minute the
-- floor is raised: it never stands, even if the clock does.
CREATE OR REPLACE FUNCTION onceguard.vitals(
  known_identity text, known_floor bigint, known_connections bigint[], known_leases bigint[],
  OUT identity text, OUT generation bigint, OUT forgotten bigint, OUT floor bigint, OUT now bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  minute constant bigint := 60000000;
BEGIN
  now := onceguard.now_ms();
  SELECT m.identity, m.leases + coalesce((SELECT sum(c.leases) FROM onceguard.lease_counts c), 0),
         m.forgotten, m.floor
    INTO STRICT identity, generation, forgotten, floor FROM onceguard.meta m;
  IF identity = known_identity
     AND NOT onceguard.holds(known_floor, known_connections, known_leases) THEN
    PERFORM onceguard.memory_lost();
  END IF;
  IF now * 1000 - floor > minute THEN
    -- Compared again with the latest row: another process may have raised it meanwhile.
    UPDATE onceguard.meta m SET floor = now * 1000, raises = m.raises + 1
    WHERE m.one IN (SELECT l.one FROM onceguard.meta l WHERE now * 1000 - l.floor > minute
                    FOR UPDATE SKIP LOCKED)
      AND now * 1000 - m.floor > minute
    RETURNING m.floor INTO floor;
    SELECT m.floor INTO STRICT floor FROM onceguard.meta m;
  END IF;
END
$$;
