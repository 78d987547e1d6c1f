"""`onceguard mcp --upstream`: the connections to the server, in the clear and by TLS."""

import pytest

from support.certificates import Authority
from support.tool_server import call_of
from support.waiting import wait_until

RESULT = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'


class Answers:
    """Results of calls, and the connections that these came on."""

    def __init__(self, *fields):
        self.connections, self.fields = [], fields

    def __call__(self, request, _):
        self.connections.append(request.client_address)
        return 200, "application/json", RESULT, self.fields


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def shares_a_connection(proxy, answers):
    """Whether one of the next requests comes on the connection of the one before it."""
    def again():
        assert proxy.post(PING).status == 200
        return len(answers.connections) > 1 and answers.connections[-1] == answers.connections[-2]

    wait_until(again, 20, "a request on a connection that was kept")


@pytest.mark.parametrize("secure", [False, True])
def test_connections_to_the_server_are_kept(place, tmp_path, secure):
    authority = Authority(tmp_path / "authority") if secure else None
    answers = Answers()
    environment = {"SSL_CERT_FILE": authority.file} if secure else {}
    _, proxy = place(answers, authority=authority, **environment)
    shares_a_connection(proxy, answers)


def test_a_guarded_call_has_a_connection_of_its_own(place, fresh_key):
    answers = Answers()
    _, proxy = place(answers)
    shares_a_connection(proxy, answers)
    for _ in range(5):
        proxy.post(call_of(fresh_key()))
        guarded = answers.connections[-1]
        proxy.post(PING)
        assert answers.connections.count(guarded) == 1


def test_a_connection_that_the_server_closes_costs_no_call(place, tools, fresh_key):
    answers = Answers(("Connection", "close"))
    _, proxy = place(answers)
    keys = [fresh_key() for _ in range(5)]
    for key in keys:
        proxy.post(call_of(key))
    assert [tools.state(key) for key in keys] == ["completed"] * 5
    assert len(set(answers.connections)) == 5


def test_a_server_whose_certificate_nobody_knows_gets_no_call(place, tools, key, tmp_path):
    answers = Answers()
    server, proxy = place(answers, authority=Authority(tmp_path / "authority"))
    got = proxy.post(call_of(key))
    assert got.status == 502 and b"TLS failed" in got.body
    assert server.calls == [] and tools.state(key) == "released"
