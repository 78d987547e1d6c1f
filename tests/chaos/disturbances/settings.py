"""Settings of servers that are changed while they run, and put back."""

import asyncio
import contextlib

import psycopg

from chaos.disturbance import Disturbance
from chaos.world import in_thread

# What is done, and what puts it back. {database}: the store's.
POSTGRES = {
    "read-only": ("ALTER SYSTEM SET default_transaction_read_only = on",
                  "ALTER SYSTEM RESET default_transaction_read_only"),
    "statement-timeout": ("ALTER SYSTEM SET statement_timeout = '1ms'",
                          "ALTER SYSTEM RESET statement_timeout"),
    "lock-timeout": ("ALTER SYSTEM SET lock_timeout = '1ms'", "ALTER SYSTEM RESET lock_timeout"),
    "idle-session": ("ALTER SYSTEM SET idle_session_timeout = '50ms'",
                     "ALTER SYSTEM RESET idle_session_timeout"),
    "serializable": ("ALTER SYSTEM SET default_transaction_isolation = 'serializable'",
                     "ALTER SYSTEM RESET default_transaction_isolation"),
    "asynchronous": ("ALTER SYSTEM SET synchronous_commit = off",
                     "ALTER SYSTEM RESET synchronous_commit"),
    "time-zone": ("ALTER SYSTEM SET timezone = 'Pacific/Kiritimati'",
                  "ALTER SYSTEM RESET timezone"),
    "no-connections": ("ALTER DATABASE {database} WITH ALLOW_CONNECTIONS false",
                       "ALTER DATABASE {database} WITH ALLOW_CONNECTIONS true"),
    "terminated": ("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                   "WHERE datname = '{database}'", "SELECT 1"),
    "cancelled": ("SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                  "WHERE datname = '{database}'", "SELECT 1"),
    "no-plans": ("ALTER SYSTEM SET enable_indexscan = off", "ALTER SYSTEM RESET enable_indexscan"),
    "text-search-path": ("ALTER DATABASE {database} SET search_path = ''",
                         "ALTER DATABASE {database} RESET search_path"),
    "strings": ("ALTER SYSTEM SET standard_conforming_strings = off",
                "ALTER SYSTEM RESET standard_conforming_strings"),
    "bytea": ("ALTER SYSTEM SET bytea_output = 'escape'", "ALTER SYSTEM RESET bytea_output"),
}
REDIS = {
    "memory": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    "replicas": ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    "clients-killed": ("CLIENT KILL TYPE normal", "PING"),
    "clients-paused": ("CLIENT PAUSE 2500 WRITE", "PING"),
    "few-clients": ("CONFIG SET maxclients 1", "CONFIG SET maxclients 1000"),
    "scripts-gone": ("SCRIPT FLUSH", "PING"),
    "functions-gone": ("FUNCTION FLUSH", "PING"),
    "sleeping": ("DEBUG SLEEP 2.5", "PING"),
    "idle": ("CONFIG SET timeout 1", "CONFIG SET timeout 0"),
    "everysec": ("CONFIG SET appendfsync everysec", "CONFIG SET appendfsync always"),
}
# What takes from Redis what it knew.
LOSING = {
    "flushed": ("FLUSHALL", "PING"),
    "evicting": ("CONFIG SET maxmemory-policy allkeys-lru",
                 "CONFIG SET maxmemory-policy noeviction"),
}


async def set_postgres(world, how):
    def say(statement):
        with contextlib.suppress(psycopg.Error), world.postgres.connect() as at:
            # Whatever the setting that is put back says.
            at.execute("SET default_transaction_read_only = off; SET statement_timeout = 0")
            at.execute(statement.format(database=world.database))
            at.execute("SELECT pg_reload_conf()")
            return True
        return False

    do, undo = POSTGRES[how["what"]]
    for _ in range(how["times"]):
        await in_thread(say, do)
        await asyncio.sleep(how["seconds"])
        await until(lambda: in_thread(say, undo))


async def lock_records(world, how):
    """Somebody's long transaction: of a maintenance, or of a console that was left open."""
    def lock():
        with contextlib.suppress(psycopg.Error), \
                world.postgres.connect(world.database, autocommit=False) as at:
            at.execute("SET statement_timeout = '5s'")
            at.execute(f"LOCK TABLE onceguard.records IN {how['mode']} MODE")
            at.execute("SELECT pg_sleep(%s)", (how["seconds"],))
            at.rollback()

    await in_thread(lock)


async def set_redis(world, how):
    table = {**REDIS, **LOSING}
    do, undo = table[how["what"]]

    def say(command):
        with contextlib.suppress(OSError):
            return bool(world.redis.run(command))
        return False

    for _ in range(how["times"]):
        if how["what"] in LOSING and world.plan.store == "redis":
            world.lost(how["what"])
        await in_thread(say, do)
        if how["what"] == "evicting":
            await in_thread(say, "CONFIG SET maxmemory 1")
        await asyncio.sleep(how["seconds"])
        if how["what"] == "evicting":
            await until(lambda: in_thread(say, "CONFIG SET maxmemory 0"))
        await until(lambda: in_thread(say, undo))


async def until(said):
    """The server may be down or asleep just then."""
    for _ in range(100):
        if await said():
            return
        await asyncio.sleep(0.2)
    raise AssertionError("a setting could not be put back")


async def pause_bouncer(world, how):
    def say(command):
        with contextlib.suppress(psycopg.Error), world.bouncer.connect("pgbouncer") as console:
            console.execute(command)
            return True
        return False

    await in_thread(say, how["command"])
    await asyncio.sleep(how["seconds"])
    await in_thread(say, "RESUME")


DRAWS = {"seconds": (0.1, 0.6, 1.5, 3), "times": (1, 2)}
TABLE = [
    Disturbance("postgres-settings", set_postgres, {"what": tuple(POSTGRES), **DRAWS},
                ("postgres", "pgbouncer", "tiered")),
    Disturbance("records-locked", lock_records,
                {"mode": ("ACCESS EXCLUSIVE", "SHARE ROW EXCLUSIVE", "SHARE"),
                 "seconds": (0.3, 1.5, 3.5)}, ("postgres", "pgbouncer", "tiered")),
    Disturbance("redis-settings", set_redis, {"what": tuple(REDIS), **DRAWS}, ("redis", "tiered")),
    Disturbance("redis-forgets", set_redis, {"what": tuple(LOSING), **DRAWS}, ("redis", "tiered")),
    Disturbance("pgbouncer-paused", pause_bouncer,
                {"command": ("PAUSE", "RECONNECT", "SUSPEND", "KILL"),
                 "seconds": (0.3, 1.5, 3)}, ("pgbouncer",)),
]
