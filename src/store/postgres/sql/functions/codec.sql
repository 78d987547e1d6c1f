-- The encoded parts of a record (docs/formats.md), for the view and for applications.

CREATE OR REPLACE FUNCTION onceguard.varint(number bigint) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  encoded bytea := '';
BEGIN
  WHILE number >= 128 LOOP
    encoded := encoded || substr(int2send((number & 127 | 128)::smallint), 2);
    number := number >> 7;
  END LOOP;
  RETURN encoded || substr(int2send(number::smallint), 2);
END
$$;

-- A text: its length, and its bytes.
CREATE OR REPLACE FUNCTION onceguard.sized(bytes bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT onceguard.varint(length(bytes)) || bytes
$$;

CREATE OR REPLACE FUNCTION onceguard.read_varint(bytes bytea, INOUT at integer, OUT number bigint)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  one integer;
BEGIN
  number := 0;
  FOR shift IN 0 .. 8 LOOP
    one := get_byte(bytes, at);
    at := at + 1;
    number := number | ((one & 127)::bigint << 7 * shift);
    EXIT WHEN one < 128;
  END LOOP;
END
$$;

-- So many texts, beginning at a byte that is counted from 0.
CREATE OR REPLACE FUNCTION onceguard.read_texts(bytes bytea, count bigint, INOUT at integer,
                                                OUT texts bytea[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  size bigint;
BEGIN
  texts := '{}';
  FOR i IN 1 .. count LOOP
    SELECT v.at, v.number INTO at, size FROM onceguard.read_varint(bytes, at) v;
    texts := texts || substr(bytes, at + 1, size::integer);
    at := at + size::integer;
  END LOOP;
END
$$;

-- A subject, read by a person or an application. Nulls if these bytes are none.
CREATE OR REPLACE FUNCTION onceguard.read_subject(
  subject bytea, OUT scope bytea, OUT scope_kind bytea, OUT key bytea, OUT method bytea,
  OUT path bytea, OUT route bytea, OUT print_method bytea, OUT print bytea)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  texts bytea[];
  at integer := 34;
BEGIN
  SELECT t.at, t.texts INTO at, texts FROM onceguard.read_texts(subject, 6, at) t;
  scope := substr(subject, 3, 32);
  scope_kind := texts[1];
  key := texts[2];
  method := texts[3];
  path := texts[4];
  route := texts[5];
  print_method := texts[6];
  print := substr(subject, at + 1, 32);
EXCEPTION
  WHEN data_exception THEN NULL;
END
$$;

-- An outcome: what was kept, and the answer, if there is one.
CREATE OR REPLACE FUNCTION onceguard.read_outcome(
  outcome bytea, OUT kept integer, OUT status integer, OUT headers bytea[], OUT body bytea)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  content bytea := substr(outcome, 1, greatest(length(outcome) - 8, 0));
  at integer := 3;
  count bigint;
BEGIN
  kept := get_byte(content, 2);
  IF length(content) > at THEN
    SELECT v.at, v.number INTO at, status FROM onceguard.read_varint(content, at) v;
    SELECT v.at, v.number INTO at, count FROM onceguard.read_varint(content, at) v;
    SELECT t.at, t.texts INTO at, headers FROM onceguard.read_texts(content, 2 * count, at) t;
    SELECT t.texts[1] INTO body FROM onceguard.read_texts(content, 1, at) t;
  END IF;
EXCEPTION
  WHEN data_exception THEN NULL;
END
$$;

-- The id of the key with which a process of Onceguard has encrypted the answer of this outcome
-- (docs/encryption.md), and empty where the id is not legible. Null: it is in the clear.
CREATE OR REPLACE FUNCTION onceguard.encrypted_with(outcome bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  name constant bytea := 'onceguard sealed';  -- with a space: no header of HTTP
  kept record;
BEGIN
  -- One header with a name of 16 bytes, behind the head and a status: most are known by this, unread.
  IF position('\x0110'::bytea || name IN substr(outcome, 5, 19)) = 0 THEN
    RETURN NULL;
  END IF;
  kept := onceguard.read_outcome(outcome);
  IF cardinality(kept.headers) = 2 AND kept.headers[1] = name THEN
    -- FORMAT TOKEN KEY-ID
    RETURN split_part(onceguard.readable_text(kept.headers[2]), ' ', 3);
  END IF;
  RETURN NULL;
END
$$;

-- Bytes for a person: as text where they are that, else with what is not escaped.
CREATE OR REPLACE FUNCTION onceguard.readable_text(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION
  WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN encode(bytes, 'escape');
END
$$;

CREATE OR REPLACE FUNCTION onceguard.readable_texts(list bytea[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF list IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(SELECT onceguard.readable_text(t.one)
               FROM unnest(list) WITH ORDINALITY AS t(one, position) ORDER BY t.position);
END
$$;
