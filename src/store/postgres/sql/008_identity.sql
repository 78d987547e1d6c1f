-- Whose memory this is, and the tokens' base.

-- The cluster, its timeline, and the files of this schema. Another one: the server was promoted,
-- or this is a copy, or came out of a dump. (A table that was rewritten has another one too,
-- which does no harm.)
CREATE FUNCTION onceguard.this_incarnation() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN hashtextextended(concat_ws('/',
    (SELECT c.system_identifier FROM pg_control_system() c),
    substring(pg_walfile_name(pg_current_wal_insert_lsn()) FOR 8),
    (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
    'onceguard.meta'::regclass::oid, pg_relation_filenode('onceguard.meta'),
    'onceguard.tokens'::regclass::oid, pg_relation_filenode('onceguard.tokens')), 0)
    & 4611686018427387903;
END
$$;

-- From here on tokens begin at the clock: none is given twice, whatever numbers this copy has
-- forgotten. The counter itself stays, as the generation tells by it that this is an older copy.
CREATE FUNCTION onceguard.raise_tokens() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM setval('onceguard.token_base', greatest(
    b.last_value + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
  FROM onceguard.token_base b;
  PERFORM setval('onceguard.incarnation', onceguard.this_incarnation());
END
$$;

CREATE FUNCTION onceguard.same_incarnation() RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT i.last_value FROM onceguard.incarnation i) = onceguard.this_incarnation();
END
$$;

-- Raises them where this is not the incarnation that the base was chosen for. Those who come at
-- the same time wait here for one another, not for the end of anybody's transaction.
CREATE FUNCTION onceguard.check_incarnation() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  turn constant bigint := 'onceguard.incarnation'::regclass::oid;
BEGIN
  IF onceguard.same_incarnation() THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_lock(turn);
  BEGIN
    IF NOT onceguard.same_incarnation() THEN
      PERFORM onceguard.raise_tokens();
    END IF;
  EXCEPTION
    WHEN query_canceled OR OTHERS THEN
      PERFORM pg_advisory_unlock(turn);
      RAISE;
  END;
  PERFORM pg_advisory_unlock(turn);
END
$$;

-- The first call on a connection. minimum_version above known_version: this database belongs to
-- a newer Onceguard. The numbers of the item types are what binary arrays of them carry.
CREATE FUNCTION onceguard.hello(known_version integer)
RETURNS TABLE (schema_version integer, minimum_version integer, layout text, identity text,
               claim_item oid, settle_item oid, extend_item oid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF (SELECT m.minimum_version <= known_version FROM onceguard.meta m) THEN
    PERFORM onceguard.check_incarnation();
  END IF;
  RETURN QUERY
    SELECT m.schema_version, m.minimum_version, m.layout, m.identity,
           'onceguard.claim_item'::regtype::oid, 'onceguard.settle_item'::regtype::oid,
           'onceguard.extend_item'::regtype::oid
    FROM onceguard.meta m;
END
$$;

-- What a process watches. What it is told must survive a crash of the server, else the generation
-- might go back: where something is not flushed yet, this call's own commit waits for it.
CREATE FUNCTION onceguard.vitals()
RETURNS TABLE (identity text, generation bigint, forgotten bigint, now bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  given bigint;
BEGIN
  PERFORM onceguard.check_incarnation();
  SELECT t.last_value + t.is_called::integer INTO STRICT given FROM onceguard.tokens t;
  IF pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() THEN
    PERFORM pg_logical_emit_message(true, 'onceguard', '');
  END IF;
  RETURN QUERY
    SELECT m.identity, given, m.forgotten, onceguard.now_ms() FROM onceguard.meta m;
END
$$;
