-- What the server could do at all with a client like ours: the two calls of the store made bare. A
-- claim is one row of six columns, a settle its update; nothing is looked up, locked or checked, and
-- nothing could be promised.
CREATE TABLE public.bare (
  digest bytea PRIMARY KEY, token bigint NOT NULL, nonce bytea NOT NULL, state smallint NOT NULL,
  key bytea NOT NULL, answer bytea) WITH (fillfactor = 40);
CREATE SEQUENCE public.bare_tokens;

CREATE OR REPLACE FUNCTION onceguard.claim_batch(items onceguard.claim_item[],
                                                 expiry_paused boolean, known_identity text,
                                                 known_generation bigint)
RETURNS SETOF onceguard.claim_told
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 64 SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  tokens bigint[];
BEGIN
  WITH inserted AS (
    INSERT INTO public.bare
    SELECT i.digest, nextval('public.bare_tokens'), i.nonce, 2, i.key, NULL FROM unnest(items) AS i
    RETURNING token)
  SELECT array_agg(i.token) INTO tokens FROM inserted i;
  RETURN QUERY
    SELECT place, 0::smallint, 0::smallint, tokens[place], 1, false, false, NULL::smallint,
           NULL::bytea[], NULL::bytea, NULL::smallint, NULL::bigint, NULL::bigint, NULL::bigint,
           NULL::smallint, NULL::smallint, NULL::bytea, NULL::bigint
    FROM generate_series(1, cardinality(items)) AS place;
END
$$;

CREATE OR REPLACE FUNCTION onceguard.settle_batch(items onceguard.settle_item[],
                                                  expiry_paused boolean)
RETURNS SETOF onceguard.settle_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 64 SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_mergejoin = off SET enable_hashjoin = off AS $$
BEGIN
  UPDATE public.bare b SET state = 4, answer = i.body
  FROM unnest(items) AS i WHERE b.digest = i.digest AND b.nonce = i.nonce;
  RETURN QUERY
    SELECT place, 0::smallint, 0::smallint, NULL::smallint, NULL::smallint, NULL::bytea[],
           NULL::bytea, NULL::smallint
    FROM generate_series(1, cardinality(items)) AS place;
END
$$;
