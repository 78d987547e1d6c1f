-- Keys and leases as applications write them.

-- A part of what is hashed: its length (64 bits, the lowest byte first), then its bytes.
CREATE OR REPLACE FUNCTION onceguard.part(bytes bytea) RETURNS bytea
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

CREATE OR REPLACE FUNCTION onceguard.scope_digest(kind bytea, value bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sha256(onceguard.part('onceguard scope 1') || onceguard.part(kind) ||
                onceguard.part(value))
$$;

CREATE OR REPLACE FUNCTION onceguard.record_digest(scope bytea, key bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sha256(onceguard.part('onceguard record 1') || onceguard.part(scope) ||
                onceguard.part(key))
$$;

-- The text of the Onceguard-Lease header.
CREATE OR REPLACE FUNCTION onceguard.lease_text(digest bytea, token bigint, claim_id bytea)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'OG1-' || encode(digest, 'hex') || '-' || encode(int8send(token), 'hex') || '-' ||
         encode(claim_id, 'hex')
$$;

CREATE OR REPLACE FUNCTION onceguard.read_lease(lease text, OUT digest bytea, OUT token bigint,
                                                OUT claim_id bytea)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF lease IS NULL OR lease !~ '^OG1-[0-9a-f]{64}-[0-9a-f]{16}-[0-9a-f]{32}$' THEN
    RAISE 'onceguard: this is no lease: take the Onceguard-Lease header as it came'
      USING ERRCODE = '22023';
  END IF;
  digest := decode(substr(lease, 5, 64), 'hex');
  token := ('x' || substr(lease, 70, 16))::bit(64)::bigint;
  claim_id := decode(substr(lease, 87), 'hex');
  IF token <= 0 THEN
    RAISE 'onceguard: no lease has this token' USING ERRCODE = '22023';
  END IF;
END
$$;

-- A hundred years are for ever, and no sum of two of them overflows.
CREATE OR REPLACE FUNCTION onceguard.milliseconds(length interval, name text,
                                                  most interval DEFAULT '100 years') RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  out bigint := floor(extract(epoch FROM length) * 1000);
BEGIN
  IF out IS NULL OR out < 0 OR out > extract(epoch FROM most) * 1000 THEN
    RAISE 'onceguard: % is a length of time of at most %', name, most USING ERRCODE = '22023';
  END IF;
  RETURN out;
END
$$;
