"""What a run on SQLite does not need is not loaded, and its flushes are counted."""

import os
import re
import resource
import subprocess

import pytest

from support.executing import FAILED_ITSELF, TRY_LATER

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


@pytest.mark.parametrize("most", range(20, 44, 3))
def test_without_descriptors_nothing_runs_and_the_key_stays_free(exec_, key, most):
    """However far it came: what was claimed is released."""
    assert exec_.shell("another", "true").code == 0
    process = exec_.begin_shell(key, "echo ran", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (most, most)))
    done = exec_.end(process)
    if done.code == 0:
        assert done.out == b"ran\n"
        return
    assert done.code in (TRY_LATER, FAILED_ITSELF) and done.out == b"", done
    assert done.err.startswith(b"onceguard: ") and done.err.count(b"\n") == 1, done
    assert exec_.runs(key) == 0 and exec_.state(key) in (None, "released")
    assert exec_.shell(key, "echo ran").triple == (0, b"ran\n", b"")


def test_a_working_directory_that_is_gone_is_no_exit_code_of_the_command(exec_, key):
    gone = exec_.folder / "gone"
    gone.mkdir()
    words = [word for word in exec_.words(key, "true") if word not in ("--store", exec_.store)]
    done = subprocess.run(["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *words], cwd=gone,
                          env=exec_.environment(), capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == FAILED_ITSELF and "store" in done.stderr, done
    assert done.stderr.endswith("nothing was run\n")
