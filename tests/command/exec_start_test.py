"""What a run on SQLite does not need is not loaded, and its flushes are counted."""

import os
import re

import pytest

LATE = ["pq", "curl", "rdkafka", "rabbitmq", "nats", "hiredis", "ssl", "crypto", "gnutls", "krb5"]


def test_the_libraries_of_other_stores_and_of_brokers_stay_away(exec_, key):
    """The command's parent is a copy of `exec`."""
    maps = exec_.run(key, "sh", "-c", "cat /proc/$PPID/maps").out.decode()
    loaded = set(re.findall(r"/lib([a-z0-9+]+)[-.][^/]*$", maps, re.MULTILINE))
    assert {"c", "sqlite3"} <= loaded
    if os.uname().machine != "x86_64" or "asan" in maps or "__tsan" in maps:
        return  # linked in the usual way: cmake/lazy_libraries.cmake
    assert not loaded & set(LATE)


@pytest.mark.parametrize("url", ["redis_server", "postgres_server", "dynamodb_server"])
def test_the_library_of_a_store_is_loaded_where_it_is_used(request, exec_on, key, url):
    server = request.getfixturevalue(url)
    made = server.create_store()
    executing = exec_on(server.url(made) if url == "postgres_server" else made)
    assert executing.run(key, "echo", "ran").triple == (0, b"ran\n", b"")


def test_a_short_log_is_left_to_the_next_run_and_a_long_one_is_not(exec_, key):
    log = exec_.folder / "keys.db-wal"
    assert exec_.shell(key, "true").code == 0
    assert 0 < log.stat().st_size < 256 * 1024
    for number in range(3):
        assert exec_.run(f"{key}-{number}", "head", "-c", "200000", "/dev/zero").code == 0
        assert not log.exists() or log.stat().st_size < 256 * 1024
    # What other commands see is all of it, whoever closes the store.
    assert exec_.state(key) == "completed" and not log.exists()
    assert exec_.shell(key, "true").code == 0
    assert exec_.runs(key) == 1
