"""The admin API on a store that is a server."""

import pytest

from support.tcp_gate import TcpGate


@pytest.fixture
def gate(postgres_server):
    between = TcpGate(postgres_server.port.number)
    yield between
    between.close()


def test_the_configuration_is_that_in_force_and_has_no_secret(begin_admin, postgres_server,
                                                              database):
    url = postgres_server.url(database).replace("postgres@", "postgres:a-secret-word@")
    _, admin = begin_admin({"store": {"url": url}, "defaults": {"lease": "20s"},
                            "route": [{"path": "/quick", "lease": "5s"}]})
    answer = admin.get("/api/config")
    whole = answer.json()
    assert "a-secret-word" not in answer.body.decode()
    assert whole["store"]["url"] == '"postgresql://…"'
    assert whole["gateway"]["admin"] == f'"{admin.text}"'
    leases = {route["path"]: route["lease"] for route in whole["route"]}
    assert leases == {'"/quick"': '"5s"', '"/"': '"20s"'}


def test_a_store_that_is_away_is_said(begin_admin, postgres_server, database, gate):
    url = postgres_server.url(database).replace(
        f":{postgres_server.port.number}/", f":{gate.port}/")
    _, admin = begin_admin({"store": {"url": url, "timeout": "300ms"}})
    with gate.holding():
        answer = admin.get(f"/api/records/{'0' * 64}")
        assert answer.status == 503 and answer.json()["detail"]
