-- What the server could do at all with a client like ours: a claim is one row of eight columns, a
-- settle its update. Nothing is looked up, locked or checked, and nothing could be promised.
CREATE TABLE public.bare (
  digest bytea PRIMARY KEY, token bigint NOT NULL, claim_id bytea NOT NULL, state smallint NOT NULL,
  deadline_at bigint NOT NULL, expires_at bigint NOT NULL, subject bytea NOT NULL, outcome bytea)
  WITH (fillfactor = 45);
