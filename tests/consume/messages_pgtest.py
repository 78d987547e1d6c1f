"""`onceguard messages` on a queue in PostgreSQL, whose dead letters are rows that stay, and with
stores that are servers."""

import json
import signal
import subprocess

import pytest

from support.consumer import Consumer, settled
from support.waiting import wait_until
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
        listed = consumer.command("messages", "list", "--json", "--wait", "1500ms").stdout
        found = {one["key"]: one["state"] for one in map(json.loads, listed.splitlines())}
        assert found == {"m1": "unknown", "m2": "dead"}
        retried = consumer.command("messages", "retry", "--all", "--yes", "--wait", "1500ms")
        assert retried.returncode == 0 and "2 of 2" in retried.stdout, retried
        assert own_upstream.runs("m1") == own_upstream.runs("m2") == 2
        with postgres_server.connect(database) as connection:
            assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)
    finally:
        consumer.stop(signal.SIGKILL)


@pytest.mark.parametrize("number, name", [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT"),
                                          (signal.SIGHUP, "SIGHUP")])
def test_a_signal_amid_a_selection_lets_the_message_under_way_end(
        onceguard, postgres_server, tmp_path, number, name):
    """Its attempt is neither killed nor left unknown, and no other is begun."""
    database = postgres_server.create_store()
    url = postgres_server.url(database)
    subprocess.run([str(onceguard), "migrate", "--store", url, "--queue", "jobs"], check=True,
                   capture_output=True, timeout=60)
    script = (f"cd {tmp_path}; test -e second || exit 75; echo x >>begun; "
              "while ! test -e go; do sleep 0.05; done; echo x >>whole")
    consumer = Consumer(onceguard, tmp_path, [{
        "subscriber": "billing", "from": url + "?queue=jobs", "command": ["sh", "-c", script],
        "attempts": 1, "concurrency": 1}], store=url)
    with postgres_server.connect(database) as connection:
        connection.execute("INSERT INTO jobs (message_id, payload) "
                           "SELECT 'm' || i, 'a' FROM generate_series(1, 3) AS i")
    consumer.start()
    try:
        settled(consumer, 3)
    finally:
        consumer.stop()
    (tmp_path / "second").touch()
    words = [str(onceguard), "messages", "retry", "--all", "--yes", "--wait", "1500ms", "--config",
             str(consumer.config)]
    retry = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until((tmp_path / "begun").exists, what="the first attempt")
        retry.send_signal(number)
        # It comes to its end however often that comes.
        if number != signal.SIGINT:
            retry.send_signal(number)
        (tmp_path / "go").touch()
        out, err = retry.communicate(timeout=60)
    finally:
        retry.kill()
    assert (tmp_path / "begun").read_text() == (tmp_path / "whole").read_text() == "x\n"
    assert retry.returncode == 1 and "1 of 3 messages" in out
    assert f"{name} after 1 of 3 messages" in err
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (2,)
    rest = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert rest.returncode == 0 and "2 of 2" in rest.stdout, rest
    assert (tmp_path / "whole").read_text() == "x\n" * 3
