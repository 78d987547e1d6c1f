"""`onceguard messages` on a queue in PostgreSQL, whose dead letters are rows that stay, and with
stores that are servers."""

import json
import signal
import subprocess

import pytest

from support.consumer import Consumer, settled
from support.redis import Redis


@pytest.fixture(scope="module")
def redis():
    running = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    yield running
    running.close()


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_rows_that_stay_are_listed_and_sent_again(onceguard, postgres_server, redis, own_upstream,
                                                  tmp_path, kind):
    database = postgres_server.create_store()
    url = postgres_server.url(database)
    subprocess.run([str(onceguard), "migrate", "--store", url, "--queue", "jobs"], check=True,
                   capture_output=True, timeout=60)
    store = url if kind == "postgres" else f"redis://127.0.0.1:{redis.port.number}"
    own_upstream.plan("/", {"status": 500}, {"status": 404}, {"status": 200})
    consumer = Consumer(onceguard, tmp_path, [{
        "subscriber": "billing", "from": url + "?queue=jobs", "to": own_upstream.url,
        "attempts": 1, "concurrency": 1}], store=store)
    with postgres_server.connect(database) as connection:
        connection.execute("INSERT INTO jobs (message_id, payload) VALUES ('m1', 'a'), ('m2', 'b')")
    try:
        consumer.start()
        settled(consumer, 2)
        listed = consumer.command("messages", "list", "--json", "--wait", "500ms").stdout
        found = {one["key"]: one["state"] for one in map(json.loads, listed.splitlines())}
        assert found == {"m1": "unknown", "m2": "dead"}
        retried = consumer.command("messages", "retry", "--all", "--yes", "--wait", "500ms")
        assert retried.returncode == 0 and "2 of 2" in retried.stdout, retried
        assert own_upstream.runs("m1") == own_upstream.runs("m2") == 2
        with postgres_server.connect(database) as connection:
            assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)
    finally:
        consumer.stop(signal.SIGKILL)
