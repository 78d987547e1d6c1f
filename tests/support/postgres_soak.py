"""Keys that come and go for a long time, with the clock moved: what of it stays on the disk."""

from support.waiting import Stopwatch

MINUTE = 60_000
STEP = 10 * MINUTE    # how far the clock goes with each cycle
SWEPT_AT_ONCE = 500
RETENTION = 6 * STEP  # so that the records of about six cycles are live at any time

# Claims and completes `keys` new keys, in transactions of 200 as a gateway's batches.
FILL = """
CREATE OR REPLACE PROCEDURE public.fill(keys integer, retention bigint) LANGUAGE plpgsql AS $$
DECLARE
  leases text[];
BEGIN
  FOR batch IN 1 .. keys / 200 LOOP
    SELECT array_agg(c.lease) INTO leases FROM generate_series(1, 200) n
      CROSS JOIN LATERAL onceguard.claim('soak', gen_random_uuid()::text || left('', n)) c
      WHERE c.verdict = 'run';
    COMMIT;
    PERFORM onceguard.complete(l.lease, 201, ARRAY['Content-Type', 'application/json'],
                               convert_to(repeat('x', 200), 'UTF8'),
                               retention * interval '1 millisecond')
      FROM unnest(leases) AS l(lease);
    COMMIT;
    IF cardinality(leases) <> 200 THEN RAISE 'only % were claimed', cardinality(leases); END IF;
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
    """Bytes of all records and their index."""
    return caller.value("SELECT pg_total_relation_size('onceguard.records')")


def soak(caller, clock, cycles, keys, sweeps=True):
    """The size after each cycle, and the seconds that each one's VACUUM took."""
    caller.connection.execute(FILL)
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
