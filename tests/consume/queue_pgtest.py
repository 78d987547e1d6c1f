"""Queues and outboxes in PostgreSQL: made by `migrate`, filled in others' transactions."""

import signal
import subprocess

import pytest

from support.consumer import Consumer
from support.waiting import wait_until


def migrate(onceguard, *arguments):
    return subprocess.run([str(onceguard), "migrate", *arguments], capture_output=True, text=True,
                          timeout=60, check=False)


def consumer_of(onceguard, folder, url, kind="queue", **table):
    return Consumer(onceguard, folder, [{
        "subscriber": "billing", "from": url + f"?{kind}=jobs&hold=5s", "dead_letter": "drop",
        **table}], store=url)


@pytest.mark.parametrize("kind", ["queue", "outbox"])
def test_what_a_transaction_published_is_handled_once(onceguard, postgres_server, own_upstream,
                                                      tmp_path, kind):
    database = postgres_server.create_store()
    url = postgres_server.url(database)
    for _ in range(2):
        made = migrate(onceguard, "--store", url, f"--{kind}", "jobs")
        assert (made.returncode, made.stdout, made.stderr) == (0, f"{kind} jobs: there\n", "")
    consumer = consumer_of(onceguard, tmp_path, url, kind, to=own_upstream.url).start()
    try:
        with postgres_server.connect(database) as connection:
            insert = "INSERT INTO jobs (message_id, payload) VALUES (%s, %s)"
            with connection.transaction():
                connection.execute(insert, ("m1", b"first"))
                connection.execute(insert, ("m1", b"first"))
            with pytest.raises(ZeroDivisionError), connection.transaction():
                connection.execute(insert, ("m2", b"never"))
                raise ZeroDivisionError
            wait_until(lambda: connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,),
                       30, "an empty queue")
        assert own_upstream.runs("m1") == 1
        assert own_upstream.runs("m2") == 0
    finally:
        assert consumer.stop() == 0


def test_a_queue_that_is_missing_is_made(onceguard, postgres_server, own_upstream, tmp_path):
    database = postgres_server.create_store()
    url = postgres_server.url(database)
    consumer = consumer_of(onceguard, tmp_path, url, to=own_upstream.url).start()
    try:
        with postgres_server.connect(database) as connection:
            connection.execute("INSERT INTO jobs (message_id, payload) VALUES ('m1', 'x')")
        own_upstream.arrived(1, key="m1", timeout=60)
    finally:
        assert consumer.stop() == 0


def test_one_that_may_not_be_made_says_who_makes_it(onceguard, postgres_server, tmp_path):
    database = postgres_server.create_store()
    with postgres_server.connect(database) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
    url = postgres_server.url(database, "reader")
    consumer = Consumer(onceguard, tmp_path, [{
        "subscriber": "billing", "from": url + "?queue=jobs", "dead_letter": "drop",
        "command": ["/bin/true"]}]).start(ready=None)
    try:
        words = "`onceguard migrate --store URL --queue TABLE` makes it"
        wait_until(lambda: words in (tmp_path / "log").read_text(), 30, "the words")
        assert "permission denied" in (tmp_path / "log").read_text()
    finally:
        consumer.stop(signal.SIGKILL)


def test_a_name_that_can_not_be_one_is_refused(onceguard, postgres_server):
    url = postgres_server.url(postgres_server.create_store())
    refused = migrate(onceguard, "--store", url, "--queue", "no.such.schema.here")
    assert refused.returncode == 3
    assert "queue" in refused.stderr
    missing = migrate(onceguard, "--store", url, "--queue", "nowhere.jobs")
    assert missing.returncode == 5
