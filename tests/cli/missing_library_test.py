"""A library of a store or a broker that can't be loaded: which, for which URL, in which package."""

import re
import subprocess

import pytest

from support.gateway import clean_environment

NAMES = {"postgresql": "libpq.so.5", "redis": "libhiredis.so.0.14", "dynamodb": "libcurl.so.4",
         "kafka": "librdkafka.so.1", "amqp": "librabbitmq.so.4", "nats": "libnats.so.3.4",
         "sqs": "libcurl.so.4"}


@pytest.fixture
def run(onceguard, tmp_path):
    """Runs onceguard where these libraries are damaged."""
    def of(*words, damaged=()):
        folder = tmp_path / "libraries"
        folder.mkdir(exist_ok=True)
        for name in damaged:
            (folder / name).write_bytes(b"")
        return subprocess.run(
            [onceguard, *words], capture_output=True, text=True, timeout=60, check=False,
            env={**clean_environment(), "LD_LIBRARY_PATH": str(folder)})
    return of


@pytest.mark.parametrize("url", [
    "postgresql://db/keys", "redis://cache", "dynamodb://eu-central-1/keys"])
def test_a_store_names_the_library_and_the_package(run, url):
    library = NAMES[url.partition(":")[0]]
    done = run("stats", "--store", url, damaged=[library])
    assert done.returncode == 3
    [line] = done.stderr.splitlines()
    assert re.fullmatch(rf"--store: url: \S*{re.escape(library)}: .*: apt install lib\S+",
                        line), line


def test_an_accelerator_does_too(run):
    done = run("check", "--store", "postgresql://db/keys", "--accelerator", "redis://cache",
               damaged=[NAMES["redis"]])
    assert done.returncode == 3
    assert re.search(r"accelerator: .*libhiredis.*: apt install libhiredis", done.stderr)


@pytest.mark.parametrize("url", [
    "kafka://broker/orders?group=g", "amqp://broker/orders", "nats://broker/ORDERS/billing",
    "sqs://eu-central-1/orders", "postgresql://db/shop?queue=orders",
    "redis://cache/orders?group=g"])
def test_a_broker_does_so_with_the_place_of_the_url(run, tmp_path, url):
    library = NAMES[url.partition(":")[0]]
    file = tmp_path / "consume.toml"
    file.write_text(f'[store]\nurl = "memory:"\n[[consume]]\nsubscriber = "billing"\n'
                    f'from = "{url}"\nto = "http://127.0.0.1:9000/events"\n')
    for command in ("check", "consume"):
        done = run(command, "--config", file, damaged=[library])
        assert done.returncode == 3
        assert re.search(rf"{file}:5:\d+: .*{re.escape(library)}: .*: apt install lib",
                         done.stderr), done.stderr


def test_an_outbox_does_too(run, tmp_path):
    file = tmp_path / "relay.toml"
    file.write_text('[[relay]]\nname = "orders"\noutbox = "postgresql://db/shop?outbox=outbox"\n'
                    'to = "http://127.0.0.1:9000/events"\n')
    done = run("relay", "--config", file, damaged=[NAMES["postgresql"]])
    assert done.returncode == 3
    assert re.search(rf"{file}:3:\d+: .*libpq.*: apt install libpq5", done.stderr), done.stderr


def test_who_does_not_ask_for_it_does_not_miss_it(run, tmp_path):
    done = run("exec", "--key", "k", "--store", f"sqlite:{tmp_path}/keys.db", "--", "echo", "ran",
               damaged=NAMES.values())
    assert (done.returncode, done.stdout) == (0, "ran\n")
