"""Fixtures of the black-box suites: the built onceguard, an upstream, gateways, fresh keys."""

import os
import pathlib
import signal
import uuid

import pytest

from support.gateway import Gateway
from support.payments import PaymentServer
from support.redis import Redis
from support.upstream import Upstream

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A shell without job control starts what is behind & with these ignored, and nohup does: the
# programs under test would inherit that.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session")
def onceguard():
    """The path of the binary under test."""
    path = pathlib.Path(os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard")
    assert path.is_file() and os.access(path, os.X_OK), f"no onceguard at {path}: build it first"
    return path.resolve()


@pytest.fixture(scope="module")
def upstream(tmp_path_factory):
    """A counting upstream for all tests of a file; fresh keys keep them apart."""
    running = Upstream(tmp_path_factory.mktemp("upstream"))
    yield running
    running.close()


@pytest.fixture
def own_upstream(tmp_path_factory):
    """A counting upstream that a test may stop, cut or count as a whole."""
    running = Upstream(tmp_path_factory.mktemp("upstream"))
    yield running
    running.close()


def gateway_factory(onceguard, tmp_path_factory):
    made = []

    def start(upstream, config=None, started=True, **how):
        url = upstream if isinstance(upstream, str) else upstream.url
        gateway = Gateway(onceguard, tmp_path_factory.mktemp("gateway"), url, config, **how)
        made.append(gateway)
        return gateway.start() if started else gateway

    return start, made


def close_all(made, failed):
    for gateway in made:
        if failed and gateway.log():
            print(f"---- log of the gateway at {gateway.address} ----\n{gateway.log()[-8000:]}")
        gateway.close()


@pytest.fixture(scope="module")
def gateway(request, onceguard, upstream, tmp_path_factory):
    """A gateway for all tests of a file, configured by the file's CONFIG."""
    start, made = gateway_factory(onceguard, tmp_path_factory)
    before = request.session.testsfailed
    yield start(upstream, getattr(request.module, "CONFIG", None))
    close_all(made, request.session.testsfailed > before)


@pytest.fixture
def start_gateway(request, onceguard, tmp_path_factory):
    """Starts gateways of one test: start_gateway(upstream, config, database=…)."""
    start, made = gateway_factory(onceguard, tmp_path_factory)
    before = request.session.testsfailed
    yield start
    close_all(made, request.session.testsfailed > before)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server for all tests of a run."""
    # Here, as the import of psycopg takes as long as many a suite: few of them need it.
    from support.postgres import Postgres
    running = Postgres()
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture
def database(postgres_server):
    """The name of a database with a fresh store."""
    return postgres_server.create_store()


@pytest.fixture
def admin(postgres_server, database):
    """A session of the superuser there."""
    with postgres_server.connect(database) as session:
        yield session


@pytest.fixture(scope="session")
def redis_server():
    """A Redis server for all tests of a run."""
    running = Redis()
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture(scope="session")
def dynamodb_server(onceguard):
    """A stand-in for DynamoDB for all tests of a run."""
    from support.dynamodb import DynamoDB
    running = DynamoDB(onceguard)
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture
def start_payments(request, tmp_path):
    """Starts payment servers of examples/, each with an empty shop."""
    running = []

    def shop(example):
        if example.endswith("-sqlite"):
            return tmp_path / "shop.db"
        if not example.endswith("-postgres"):
            return f"sqlite:{tmp_path}/onceguard.db"
        server = request.getfixturevalue("postgres_server")
        name = server.create_store()
        with server.connect(name) as session:
            session.execute("CREATE TABLE payments (id serial PRIMARY KEY, what text)")
        return server.url(name)

    def start(example):
        running.append(PaymentServer(example, shop(example)))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture(params=["sqlite", "postgresql", "redis", "dynamodb", "tiered"])
def store(request):
    """The table `store` of a configuration, for each store that outlives a gateway; fresh.
    "journal" is for tests with one gateway only: see support/stores.py."""
    if request.param == "sqlite":
        return {}
    if request.param == "journal":
        return {"url": f"journal:{request.getfixturevalue('tmp_path')}/journal"}
    if request.param == "redis":
        return {"url": request.getfixturevalue("redis_server").create_store()}
    if request.param == "dynamodb":
        # Leases that are over are found by the sweep.
        return {"url": request.getfixturevalue("dynamodb_server").create_store(),
                "sweep": "250ms"}
    server = request.getfixturevalue("postgres_server")
    made = {"url": server.url(server.create_store())}
    if request.param == "tiered":
        made["accelerator"] = request.getfixturevalue("redis_server").create_store()
    return made


@pytest.fixture
def key():
    """A key that was never used."""
    return f"key-{uuid.uuid4()}"


@pytest.fixture
def fresh_key():
    """Makes keys that were never used."""
    return lambda: f"key-{uuid.uuid4()}"
