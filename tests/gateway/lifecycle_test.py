"""Starting, stopping and reloading, and clients that leave in the middle."""

import contextlib
import signal
import socket

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import Stopwatch, wait_until


def test_an_idle_gateway_ends_at_once(start_gateway, upstream):
    gateway = start_gateway(upstream)
    with gateway.connect() as idle:
        idle.send_request("GET", "/")
        assert idle.read().status == 201
        clock = Stopwatch()
        assert gateway.stop() == 0
        assert clock.seconds < 20  # and not when the drain of 25 s is over
        assert idle.closed_within(30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_running_requests_finish(start_gateway, upstream, key, number):
    gateway = start_gateway(upstream)
    with gateway.begin_post(key=key, plan={"gate": key}) as running, \
            gateway.begin_post(f"/{key}", plan={"gate": key}) as unguarded:
        upstream.arrived(1, key)
        upstream.arrived(1, path=f"/{key}")
        gateway.signal(number)
        gateway.await_closed_listener()
        upstream.open(key)
        first = assert_first(running.read())
        assert_first(unguarded.read())
        assert gateway.wait() == 0
        assert running.closed_within(30)
    gateway.start()
    assert_replay_of(gateway.post(key=key), first)
    assert upstream.runs(key) == 1


def test_a_request_whose_body_is_still_coming_finishes(start_gateway, upstream, fresh_key):
    def finishes():
        """Not where a busy machine sends the rest later than a second after the signal."""
        gateway = start_gateway(upstream)
        with gateway.connect() as connection:
            connection.reader.expect("POST")
            connection.send(request_bytes("POST", "/charges", fields_for(fresh_key())
                                          + [("Content-Length", "4"), ("Expect", "100-continue")]))
            # Once the gateway asks for the body, the request has begun for it.
            assert connection.read_interim().status == 100
            connection.send(b"ha")
            clock = Stopwatch()
            gateway.signal(signal.SIGTERM)
            gateway.await_closed_listener()
            with contextlib.suppress(ConnectionError):
                connection.send(b"lf")
            if clock.seconds > 0.9:
                return False
            assert_first(connection.read())
            assert gateway.wait() == 0
            return True
    assert any(finishes() for _ in range(5))


def test_the_drain_has_an_end(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"gateway": {"drain": "1s"}, "defaults": {"lease": "60s"}})
    with gateway.begin_post(key=key, plan={"gate": "never"}) as running:
        upstream.arrived(1, key)
        clock = Stopwatch()
        gateway.signal(signal.SIGTERM)
        code = gateway.wait()
        assert 0.8 < clock.seconds < 20  # nor after the 25 s that are the default, or the lease
        assert code == 0
        assert running.closed_within(30)
    # The lease was abandoned: nobody has to wait a minute for it to run out.
    gateway.start()
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert "abandoned" in str(gateway.record(key))


def test_requests_in_flight_at_the_end_of_the_drain_have_a_line(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {
        "gateway": {"drain": "1s", "access_log": "all", "threads": 3}})
    with contextlib.ExitStack() as open_ones:
        for target, sent in ("/runs", key), ("/other", "other-" + key), ("/keyless", None):
            open_ones.enter_context(gateway.begin_post(target, key=sent, plan={"gate": "never"}))
            own_upstream.arrived(1, path=target)
        gateway.signal(signal.SIGTERM)
        assert gateway.wait() == 0
    logged = [line for line in gateway.log_lines() if line["event"] == "request"]
    assert {line["status"] for line in logged} == {0}
    seen = sorted((line["path"], line["outcome"], line.get("settled"), line.get("reason"),
                   line.get("attempt")) for line in logged)
    assert seen == [("/keyless", "unguarded", None, None, None),
                    ("/other", "ran", "unknown", "abandoned", 1),
                    ("/runs", "ran", "unknown", "abandoned", 1)]
    assert gateway.log_lines()[-1]["event"] == "stopped"


def test_records_outlive_a_restart_and_a_crash(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    firsts = {}
    for number in range(20):
        key = fresh_key()
        firsts[key] = assert_first(gateway.post(key=key, plan={"size": number * 1000}))
    gateway.restart()
    for key, first in firsts.items():
        assert_replay_of(gateway.post(key=key), first)
    gateway.kill()
    gateway.start()
    for key, first in firsts.items():
        assert_replay_of(gateway.post(key=key), first)
        assert upstream.runs(key) == 1


def test_a_client_that_leaves_does_not_cancel_the_work(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    for leave in ("close", "reset"):
        key = fresh_key()
        connection = gateway.begin_post(key=key, plan={"gate": key, "size": 5000})
        upstream.arrived(1, key)
        getattr(connection, leave)()
        assert_problem(gateway.post(key=key), 409, "in-progress", True, retry_after=True)
        upstream.open(key)
        again = wait_until(lambda: next((a for a in [gateway.post(key=key)] if a.replayed), None))
        assert len(again.body) == 5000
        assert upstream.runs(key) == 1


def test_a_client_that_half_closes(start_gateway, upstream, key):
    """Whether it is still there to read can't be known; the work is done and recorded."""
    gateway = start_gateway(upstream)
    with gateway.begin_post(key=key, plan={"gate": key}) as connection:
        upstream.arrived(1, key)
        connection.socket.shutdown(socket.SHUT_WR)
        upstream.open(key)
        wait_until(lambda: gateway.post(key=key).replayed)
    assert upstream.runs(key) == 1


def test_many_clients_that_leave(start_gateway, upstream, fresh_key):
    gateway = start_gateway(upstream)
    gate = fresh_key()
    keys = [fresh_key() for _ in range(50)]
    for key in keys:
        connection = gateway.begin_post(key=key, plan={"gate": gate})
        upstream.arrived(1, key)
        connection.reset()
    upstream.open(gate)
    for key in keys:
        wait_until(lambda: gateway.post(key=key).replayed)
        assert upstream.runs(key) == 1


def test_reload_changes_the_rules(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post("/x"))
    with gateway.connect() as kept, gateway.begin_post("/x", key=key, plan={"gate": key}) as busy:
        kept.send_request("GET", "/")
        assert kept.read().status == 201
        upstream.arrived(1, key)
        gateway.reload({"route": [{"path": "/x", "required": True}]})
        wait_until(lambda: gateway.post("/x").status == 400, what="the new rule")
        kept.send_request("POST", "/x", [], b"")
        assert_problem(kept.read(), 400, "key-missing", False)
        upstream.open(key)
        first = assert_first(busy.read())
    assert_replay_of(gateway.post("/x", key=key), first)


def test_reload_changes_the_upstream(start_gateway, upstream, own_upstream, key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post(f"/{key}"))
    gateway.reload({"upstream": [{"name": "shop", "url": own_upstream.url}]})
    wait_until(lambda: gateway.post(f"/{key}").status == 201
               and own_upstream.requests(path=f"/{key}"))


@pytest.mark.parametrize("text", [
    "this is not TOML", "[defaults]\nlease = \"soon\"\n", "[nonsense]\nx = 1\n",
    "[defaults]\nscope = \"jwt:sub\"\n",
])
def test_a_bad_configuration_changes_nothing(start_gateway, upstream, key, text):
    gateway = start_gateway(upstream, {"route": [{"path": "/x", "required": True}]})
    first = assert_first(gateway.post(key=key))
    gateway.config_path.write_text(text)
    gateway.signal(signal.SIGHUP)
    assert "onceguard.toml" in gateway.logged("configuration")[0]["at"]
    assert gateway.process.poll() is None
    assert_problem(gateway.post("/x"), 400, "key-missing", False)
    assert_replay_of(gateway.post(key=key), first)


@pytest.mark.parametrize("text, place", [
    ("[defaults]\nlease = \"soon\"\n", "onceguard.toml:2:"),
    ("[gateway]\nlisten = 8080\n", "onceguard.toml:2:"),
    ("[gateway\n", "onceguard.toml:1:"),
    ("[defaults]\nmisspelt = true\n", "onceguard.toml:2:"),
])
def test_a_bad_configuration_at_the_start(start_gateway, upstream, text, place):
    gateway = start_gateway(upstream, started=False)
    gateway.config_path.write_text(text)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    gateway.says(place)


def test_a_port_that_is_taken(start_gateway, upstream):
    gateway = start_gateway(upstream)
    second = start_gateway(upstream, {"gateway": {"listen": "%s:%d" % gateway.address}},
                           started=False)
    second.start(wait=False)
    assert second.wait() == 1
    assert gateway.get("/").status == 201


def test_the_log_is_json_and_contains_the_address(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post(key=key))
    gateway.stop()
    lines = gateway.log_lines()
    assert any("%s:%d" % gateway.address in str(line) for line in lines), lines


def test_a_free_port_is_taken_where_none_is_given(start_gateway, upstream):
    gateway = start_gateway(upstream, {"gateway": {"listen": "127.0.0.1:0"}}, started=False)
    gateway.start(wait=False)

    def address():
        for line in gateway.log_lines():
            for value in line.values():
                if isinstance(value, str) and value.startswith("127.0.0.1:"):
                    return ("127.0.0.1", int(value.rpartition(":")[2]))
        return None
    gateway.address = wait_until(address, what="the address in the log")
    assert gateway.address[1] != 0
    assert gateway.get("/").status == 201
