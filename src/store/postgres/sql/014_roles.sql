-- Who may do what. Nobody but the owner touches a table; onceguard_app may claim and settle in
-- its own transactions, onceguard_gateway is what a gateway and the commands connect as.
-- Where the one who migrates may not create roles, an administrator creates these two before,
-- or after and then grants as below.

DO $roles$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['onceguard_app', 'onceguard_gateway'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      EXCEPTION
        WHEN insufficient_privilege THEN
          RAISE WARNING 'onceguard: no right to create the role %: ask an administrator', wanted;
        WHEN duplicate_object OR unique_violation THEN NULL;  -- another database, just now
      END;
    END IF;
  END LOOP;
END
$roles$;

REVOKE ALL ON SCHEMA onceguard FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA onceguard FROM PUBLIC;

DO $grants$
DECLARE
  for_applications constant text[] := ARRAY[
    'claim(text, text, bytea, boolean, interval, text, text, bytea)',
    'claim_item_now(onceguard.claim_item, boolean)',
    'claim_to_execute(onceguard.claim_item)', 'wait_for_record(bytea, bigint)',
    'complete(text, integer, text[], bytea, interval)',
    'complete_now(text, integer, bytea[], bytea, interval)',
    'fail(text, interval, interval, interval)', 'release(text)', 'abandon(text)',
    'save_progress(text, text, bytea, interval)'];
  for_gateways constant text[] := ARRAY[
    'hello(integer)', 'claim_batch(onceguard.claim_item[], boolean)',
    'settle_batch(onceguard.settle_item[], boolean)',
    'extend_batch(onceguard.extend_item[])',
    'resolve(bytea, boolean, smallint, bytea[], bytea, boolean, bigint, boolean)',
    'find(bytea, boolean)', 'list(smallint, bytea, bytea, bigint, integer, boolean)',
    'counts(boolean)', 'sweep(integer, boolean)', 'vitals()', 'raise_tokens()', 'now_ms()'];
  name text;
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_app') THEN
    GRANT USAGE ON SCHEMA onceguard TO onceguard_app;
    FOREACH name IN ARRAY for_applications LOOP
      EXECUTE 'GRANT EXECUTE ON FUNCTION onceguard.' || name || ' TO onceguard_app';
    END LOOP;
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    GRANT USAGE ON SCHEMA onceguard TO onceguard_gateway;
    FOREACH name IN ARRAY for_applications || for_gateways LOOP
      EXECUTE 'GRANT EXECUTE ON FUNCTION onceguard.' || name || ' TO onceguard_gateway';
    END LOOP;
    GRANT SELECT ON onceguard.keys TO onceguard_gateway;
    GRANT EXECUTE ON FUNCTION
      onceguard.readable_text(bytea), onceguard.readable_texts(bytea[]),
      onceguard.readable(onceguard.records), onceguard.checksum_of(onceguard.records),
      onceguard.observed(smallint, bigint, bigint),
      onceguard.expired(smallint, bigint, bigint, bigint, boolean) TO onceguard_gateway;
  END IF;
END
$grants$;
