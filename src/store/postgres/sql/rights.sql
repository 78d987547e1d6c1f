-- Who may do what. onceguard_app may claim and settle in its own transactions, by functions alone.
-- onceguard_gateway is what a gateway and the commands connect as: it reads and writes records by
-- plain statements, and removes them only by the sweep. Where the one who migrates may not create
-- roles, an administrator creates these two before.
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
  for_applications constant text :=
    'onceguard.claim(text, text, bytea, boolean, interval, text, text, bytea, interval), '
    'onceguard.claim_now(bytea, bytea, bytea, bytea, bytea, bigint, bigint, boolean, boolean), '
    'onceguard.must_settle(text), '
    'onceguard.wait_for_key(bytea, bytea, bytea, bigint), '
    'onceguard.complete(text, integer, text[], bytea, interval), '
    'onceguard.complete_now(text, integer, bytea[], bytea, interval), '
    'onceguard.fail(text, interval, interval, interval), onceguard.release(text), '
    'onceguard.abandon(text), onceguard.save_progress(text, text, bytea, interval)';
  for_gateways constant text :=
    'onceguard.hello(integer, text, bigint, bigint[], bigint[]), '
    'onceguard.vitals(text, bigint, bigint[], bigint[]), '
    'onceguard.holds(bigint, bigint[], bigint[]), onceguard.memory_lost(), onceguard.now_ms(), '
    'onceguard.floor_raised(), '
    'onceguard.sweep(integer, boolean), onceguard.accelerator_epoch(text), '
    'onceguard.note_accelerator(text, bigint, bigint, text), '
    'onceguard.observed(onceguard.state, bigint, bigint), '
    'onceguard.expired(onceguard.state, bigint, bigint, bigint, boolean), '
    'onceguard.moment(bigint), onceguard.readable(onceguard.records), '
    'onceguard.seal(bytea, bytea, bytea), '
    'onceguard.read_subject(bytea), onceguard.read_outcome(bytea), '
    'onceguard.read_varint(bytea, integer), onceguard.read_texts(bytea, bigint, integer), '
    'onceguard.readable_text(bytea), onceguard.readable_texts(bytea[])';
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_app') THEN
    GRANT USAGE ON SCHEMA onceguard TO onceguard_app;
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || for_applications || ' TO onceguard_app';
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'onceguard_gateway') THEN
    GRANT USAGE ON SCHEMA onceguard TO onceguard_gateway;
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || for_applications || ', ' || for_gateways
            || ' TO onceguard_gateway';
    GRANT SELECT, INSERT, UPDATE ON onceguard.records, onceguard.lease_counts, onceguard.listeners
      TO onceguard_gateway;
    GRANT SELECT, INSERT ON onceguard.attention TO onceguard_gateway;
    GRANT SELECT, UPDATE (forgotten) ON onceguard.meta TO onceguard_gateway;
    GRANT SELECT ON onceguard.keys TO onceguard_gateway;
  END IF;
END
$grants$;
