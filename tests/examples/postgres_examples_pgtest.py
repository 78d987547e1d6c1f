"""The services of examples/ that complete in their own transaction: one row a key, whoever dies."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from support.client import all_at_once, ask, fields_for, request_bytes
from support.expecting import assert_replay_of
from support.ports import Port
from support.waiting import wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
ORDER = b'{"amount":1999,"card":"4242"}'
AT_COMMIT = 4711  # the advisory lock that every commit of a charge has to get first

# Whoever holds AT_COMMIT keeps a charge, and all that its transaction says, from committing.
GATE = f"""
CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN PERFORM pg_advisory_xact_lock({AT_COMMIT}); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON charges
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pass_gate()
"""

# Each of the two roles may do what its part needs, and no more.
ROLES = """
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'shop') THEN
    CREATE ROLE shop LOGIN IN ROLE onceguard_app;
    CREATE ROLE guard LOGIN IN ROLE onceguard_gateway;
  END IF;
END $$;
GRANT CREATE ON SCHEMA public TO shop
"""


def express_command():
    node = shutil.which("node")
    assert node, "Node.js is missing"
    installed = EXAMPLES / "express-postgres/node_modules/pg/package.json"
    assert installed.is_file(), "run npm install in examples/express-postgres first"
    return [node, "server.js"]


COMMANDS = {"express-postgres": express_command,
            "flask-postgres": lambda: [sys.executable, "app.py"]}


class Service:
    """A running example on a database of its own."""

    def __init__(self, name, server, database, log_path):
        self.name, self.server, self.database, self.log_path = name, server, database, log_path
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.url = f"http://127.0.0.1:{self.port.number}"
        self.process = None
        self.admin = server.connect(database)
        self.admin.execute(ROLES)
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *COMMANDS[self.name]()],
                cwd=EXAMPLES / self.name, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PORT": str(self.port.number),
                     "DATABASE_URL": self.server.url(self.database, "shop")})
        wait_until(self._up, timeout=30, what=self.name)

    def _up(self):
        assert self.process.poll() is None, self.log_path.read_text()
        try:
            return ask(self.address, "GET", "/charges").status == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.admin.close()
        self.port.close()

    def rows(self):
        return self.admin.execute("SELECT count(*) FROM charges").fetchone()[0]

    @contextlib.contextmanager
    def held_at(self, take, give_back):
        """While a lock is held that every charge needs; it is known when one waits for it."""
        with self.server.connect(self.database) as holder:
            holder.execute(take)

            def wait_for_one():
                wait_until(lambda: self.admin.execute(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0] == 1,
                    timeout=30, what="a charge waiting")
            yield wait_for_one
            holder.execute(give_back)

    def held_at_commit(self):
        return self.held_at(f"SELECT pg_advisory_lock({AT_COMMIT})",
                            f"SELECT pg_advisory_unlock({AT_COMMIT})")

    def held_at_insert(self):
        return self.held_at("BEGIN; LOCK TABLE charges IN SHARE MODE", "COMMIT")


@pytest.fixture(params=COMMANDS)
def service(request, postgres_server, tmp_path):
    running = Service(request.param, postgres_server, postgres_server.create_store(),
                      tmp_path / "service.log")
    with contextlib.closing(running):
        running.admin.execute(GATE)
        yield running


@pytest.fixture
def gateway(start_gateway, service):
    return start_gateway(service.url, {
        "store": {"url": service.server.url(service.database, "guard"), "timeout": "5s"},
        "defaults": {"effect": "transactional", "lease": "10s", "on_busy": "wait"}})


def completed(gateway, key):
    """The answer of the key once it is there."""
    def try_it():
        answer = gateway.post(key=key, body=ORDER)
        return answer if answer.status == 201 else None
    return wait_until(try_it, timeout=30, what="the outcome")


def test_a_retry_takes_effect_once(service, gateway, key):
    first = gateway.post(key=key, body=ORDER)
    assert first.status == 201
    for _ in range(3):
        assert_replay_of(gateway.post(key=key, body=ORDER), first)
    assert first.json() == {"id": 1, "amount": 1999, "card": "4242"}
    assert first.get("Location") == "/charges/1"
    assert json.loads(ask(service.address, "GET", "/charges").body) == {
        "count": 1, "charges": [first.json()]}
    assert gateway.record(key)["by_application"] is True


def test_twenty_retries_at_once_take_effect_once(service, gateway, key):
    fields = [("Content-Type", "application/json")] + fields_for(key)
    answers = all_at_once(gateway.address,
                          [request_bytes("POST", "/charges", fields, ORDER)] * 20)
    assert {(a.status, a.body) for a in answers} == {(201, answers[0].body)}
    assert service.rows() == 1


def test_a_refused_charge_leaves_no_row_and_may_be_corrected(service, gateway, key):
    assert gateway.post(key=key, body=b'{"amount":-1}').status == 400
    assert service.rows() == 0
    assert gateway.post(key=key, body=ORDER).status == 201
    assert service.rows() == 1


def test_without_a_lease_nothing_commits(service):
    answer = ask(service.address, "POST", "/charges", [("Content-Type", "application/json")], ORDER)
    assert answer.status >= 400
    assert service.rows() == 0


def test_the_service_dies_before_its_commit(service, gateway, key):
    with contextlib.ExitStack() as asking:
        with service.held_at_insert() as wait_for_one:
            asking.enter_context(gateway.begin_post(key=key, body=ORDER))
            wait_for_one()
            service.kill()
    service.start()
    answer = completed(gateway, key)
    assert_replay_of(gateway.post(key=key, body=ORDER), answer)
    assert service.rows() == 1


def test_the_service_dies_between_its_commit_and_its_answer(service, gateway, key):
    with contextlib.ExitStack() as asking:
        with service.held_at_commit() as wait_for_one:
            connection = asking.enter_context(gateway.begin_post(key=key, body=ORDER))
            wait_for_one()
            service.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: service.rows() == 1, what="the commit")
        service.kill()
        first = connection.read()
    # It took effect, whatever became of the service: its first client learns it.
    assert (first.status, first.json()["amount"]) == (201, 1999)
    service.start()
    assert_replay_of(gateway.post(key=key, body=ORDER), first)
    assert service.rows() == 1


def test_the_gateway_dies_between_the_effect_and_the_answer(service, gateway, key):
    with contextlib.ExitStack() as asking:
        with service.held_at_commit() as wait_for_one:
            asking.enter_context(gateway.begin_post(key=key, body=ORDER))
            wait_for_one()
            gateway.kill()
        wait_until(lambda: service.rows() == 1, what="the commit")
    gateway.start()
    answer = completed(gateway, key)
    assert answer.replayed and answer.json()["amount"] == 1999
    assert service.rows() == 1
