-- The usual article's way to make a request idempotent, for pgbench: six round trips, each of which
-- the client waits for. The work would lie between the INSERT and the UPDATE; here it is a row.
\set key random(1, 9223372036854775806)
BEGIN;
SELECT fingerprint, status, answer FROM idempotency_keys WHERE scope = 7 AND key = :key FOR UPDATE;
INSERT INTO idempotency_keys (scope, key, fingerprint, locked_at) VALUES (7, :key, sha256(:key::text::bytea), now());
INSERT INTO charges (amount) VALUES (500);
UPDATE idempotency_keys SET status = 201, locked_at = NULL, answer = repeat('x', 200) WHERE scope = 7 AND key = :key;
COMMIT;
