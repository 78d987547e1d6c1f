"""A server for all SQL suites of a run, and fresh databases on it."""

import pytest

from store.postgres.acts import Clock, Desk


@pytest.fixture(scope="session")
def server(postgres_server):
    return postgres_server


@pytest.fixture
def connect(server):
    """Opens connections of one test: connect(database, user=…)."""
    made = []

    def open_one(database, **how):
        made.append(server.connect(database, **how))
        return made[-1]

    yield open_one
    for connection in made:
        connection.close()


@pytest.fixture
def caller(database, connect):
    return Desk(connect(database))


@pytest.fixture
def clock(caller):
    return Clock(caller)
