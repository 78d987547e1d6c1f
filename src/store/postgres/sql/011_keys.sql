-- Keys, leases and texts as people and applications write them.

-- A part of what is hashed: its length (64 bits, the lowest byte first), then its bytes.
CREATE FUNCTION onceguard.part(bytes bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  high bytea := int8send(length(bytes));
  low bytea := high;
BEGIN
  FOR n IN 0 .. 7 LOOP
    low := set_byte(low, n, get_byte(high, 7 - n));
  END LOOP;
  RETURN low || bytes;
END
$$;

-- The scope's digest: SHA-256 over its kind and value.
CREATE FUNCTION onceguard.scope_digest(kind text, value text) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sha256(onceguard.part('onceguard scope 1') ||
                onceguard.part(convert_to(kind, 'UTF8')) ||
                onceguard.part(convert_to(value, 'UTF8')))
$$;

-- The digest that a record is found by: SHA-256 over its scope's and its key.
CREATE FUNCTION onceguard.record_digest(scope bytea, key bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sha256(onceguard.part('onceguard record 1') || onceguard.part(scope) ||
                onceguard.part(key))
$$;

-- The text of the Onceguard-Lease header.
CREATE FUNCTION onceguard.lease_text(digest bytea, token bigint, nonce bytea) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'OG1-' || encode(digest, 'hex') || '-' || encode(int8send(token), 'hex') || '-' ||
         encode(nonce, 'hex')
$$;

CREATE FUNCTION onceguard.read_lease(lease text, OUT digest bytea, OUT token bigint,
                                     OUT nonce bytea)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF lease IS NULL OR lease !~ '^OG1-[0-9a-f]{64}-[0-9a-f]{16}-[0-9a-f]{32}$' THEN
    RAISE 'onceguard: this is no lease: take the Onceguard-Lease header as it came'
      USING ERRCODE = '22023';
  END IF;
  digest := decode(substr(lease, 5, 64), 'hex');
  token := ('x' || substr(lease, 70, 16))::bit(64)::bigint;
  nonce := decode(substr(lease, 87), 'hex');
  IF token <= 0 THEN
    RAISE 'onceguard: no lease has this token' USING ERRCODE = '22023';
  END IF;
END
$$;

CREATE FUNCTION onceguard.milliseconds(length interval, what text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  out bigint := floor(extract(epoch FROM length) * 1000);
BEGIN
  IF out IS NULL OR out < 0 OR out > 3155760000000 THEN
    RAISE 'onceguard: % is a length of time of at most 100 years', what USING ERRCODE = '22023';
  END IF;
  RETURN out;
END
$$;

-- Bytes for a person: as text where they are that, else with what is not escaped.
CREATE FUNCTION onceguard.readable_text(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION
  WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN encode(bytes, 'escape');
END
$$;

CREATE FUNCTION onceguard.readable_texts(list bytea[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF list IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(SELECT onceguard.readable_text(t.one)
               FROM unnest(list) WITH ORDINALITY AS t(one, place) ORDER BY t.place);
END
$$;

-- Names and values in turn, or an array of pairs: both come out flat.
CREATE FUNCTION onceguard.header_list(headers text[]) RETURNS bytea[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT convert_to(t.one, 'UTF8')
               FROM unnest(headers) WITH ORDINALITY AS t(one, place) ORDER BY t.place)
$$;
