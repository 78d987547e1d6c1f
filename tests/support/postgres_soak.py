"""Keys that come and go for a long time, with the clock moved: what of it stays on the disk."""

from support.waiting import Stopwatch

MINUTE = 60_000
STEP = 10 * MINUTE    # how far the clock goes with each cycle
SWEPT_AT_ONCE = 500
RETENTION = 6 * STEP  # so that the records of about six cycles are live at any time

# Claims and completes `keys` new keys as a gateway does, in batches and transactions of 200.
FILL = """
CREATE OR REPLACE PROCEDURE public.fill(keys integer, retention bigint) LANGUAGE plpgsql AS $$
DECLARE
  claims onceguard.claim_item[];
  tokens bigint[];
  settled integer;
BEGIN
  FOR batch IN 1 .. keys / 200 LOOP
    SELECT array_agg(ROW(sha256(uuid_send(gen_random_uuid())), uuid_send(gen_random_uuid()),
        sha256('scope'), 'credential', uuid_send(gen_random_uuid()), 'POST', '/v1/payments',
        '/v1/payments', 'exact', sha256('body'), 60000, 30000, false, 0, 0, 0, false
        )::onceguard.claim_item)
      INTO claims FROM generate_series(1, 200);
    SELECT array_agg(c.token ORDER BY c.item) INTO tokens
      FROM onceguard.claim_batch(claims, false) c WHERE c.verdict = 0;
    COMMIT;
    SELECT count(*) INTO settled FROM onceguard.settle_batch((
      SELECT array_agg(ROW(c.digest, t.token, c.nonce, 0, 201,
          ARRAY['Content-Type'::bytea, 'application/json'], convert_to(repeat('x', 200), 'UTF8'),
          0, retention, 0, 0, 0, 0, 0, c.scope, c.scope_kind, c.key, c.method, c.path, c.route,
          c.print_method, c.print, c.run_timeout, NULL)::onceguard.settle_item)
      FROM unnest(claims) WITH ORDINALITY AS c
      JOIN unnest(tokens) WITH ORDINALITY AS t(token, place) ON t.place = c.ordinality), false) s
      WHERE s.outcome = 0;
    COMMIT;
    IF settled <> 200 THEN RAISE 'only % were settled', settled; END IF;
  END LOOP;
END
$$
"""


def pass_time(caller, clock, sweeps):
    """One step of the clock; each minute of it a gateway sweeps, in batches, as long as there is
    a whole one."""
    for _ in range(STEP // MINUTE):
        clock.advance(MINUTE)
        while sweeps and caller.sweep(SWEPT_AT_ONCE) == SWEPT_AT_ONCE:
            pass


def size_of(caller):
    """Bytes of all records and their indexes, whatever tables they are in."""
    return int(caller.value("SELECT sum(pg_total_relation_size(p)) FROM onceguard.parts() p"))


def soak(caller, clock, cycles, keys, sweeps=True):
    """The size after each cycle, and the seconds that each one's VACUUM took."""
    caller.on.execute(FILL)
    caller.rows("SET vacuum_cost_delay = '2ms'")  # as autovacuum does, and by now would have done
    sizes, seconds = [], []
    for _ in range(cycles):
        caller.rows("CALL public.fill(%s, %s)", [keys, RETENTION])
        pass_time(caller, clock, sweeps)
        watch = Stopwatch()
        caller.rows("VACUUM onceguard.records")
        seconds.append(watch.seconds)
        sizes.append(size_of(caller))
    return sizes, seconds
