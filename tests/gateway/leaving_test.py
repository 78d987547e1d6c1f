"""Clients that leave before their answer came."""

import socket

import pytest

from support.client import fields_for, request_bytes
from support.expecting import assert_first, assert_problem
from support.pattern import pattern
from support.samples import wait_for_free_slots
from support.waiting import wait_until

WAYS = pytest.mark.parametrize("leave", ["close", "reset", "half-close"])


@pytest.fixture
def start_limited(start_gateway, admin_listener):
    """Starts a gateway that takes so many connections, all of which are free."""
    def start(upstream, count, **config):
        gateway = start_gateway(upstream, {
            "gateway": {"max_connections": count, "admin": admin_listener.text}, **config})
        wait_for_free_slots(gateway, admin_listener)
        return gateway
    return start


def go(connection, leave):
    if leave == "half-close":
        connection.socket.shutdown(socket.SHUT_WR)
    else:
        getattr(connection, leave)()


@WAYS
def test_slots_of_unguarded_requests_come_back(start_limited, own_upstream, fresh_key, leave):
    gateway = start_limited(own_upstream, 8)
    path = fresh_key()
    clients = [gateway.begin_post(f"/{path}", plan={"gate": "never"}) for _ in range(8)]
    own_upstream.arrived(8, path=f"/{path}")
    for client in clients:
        go(client, leave)
    wait_until(lambda: own_upstream.connections()["open"] == 0,
               what="the end of the calls that nobody waits for")
    assert_first(wait_until(lambda: next((a for a in [gateway.post("/x")] if a.status == 201),
                                         None)))
    for client in clients:
        client.close()


@WAYS
def test_an_answer_in_the_middle_is_given_up(start_gateway, own_upstream, key, leave):
    gateway = start_gateway(own_upstream)
    with gateway.connect() as client:
        plan = {"pieces": ["first", "second"], "gate_half": "never"}
        client.send_request("GET", f"/{key}", fields_for(None, plan))
        assert client.read_part(5).body == b"first"
        go(client, leave)
        wait_until(lambda: own_upstream.connections()["open"] == 0)


def test_the_rest_of_a_guarded_answer_that_is_not_kept_is_given_up(start_gateway, own_upstream,
                                                                   key):
    """It is settled by then; what still comes is for this client alone."""
    config = {"defaults": {"max_answer_body": "1KiB"}}
    gateway = start_gateway(own_upstream, config)
    with gateway.connect() as client:
        plan = {"pieces": ["x" * 2000, "second"], "gate_half": "never", "framing": "chunked"}
        client.send_request("POST", "/charges", fields_for(key, plan), b"x")
        assert client.read_part(2000).status == 201
        go(client, "close")
        wait_until(lambda: own_upstream.connections()["open"] == 0)
    assert gateway.state(key) == "completed"


def test_an_upload_that_nobody_takes_is_given_up(start_gateway, scripted, key):
    """The upstream reads no more, so nobody reads the client either."""
    upstream = scripted.add(("head",), ("stall",), window=4096)
    gateway = start_gateway(upstream.url)
    with gateway.connect() as client:
        size = 64 << 20
        client.send(request_bytes("POST", f"/{key}", [("Content-Length", str(size))]))
        client.socket.setblocking(False)
        sent = 0
        try:
            while sent < size:
                sent += client.socket.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        wait_until(lambda: upstream.scripted)
        connections = gateway.open_sockets()
        client.reset()  # the end of one that closes would stand behind its bytes
    wait_until(lambda: gateway.open_sockets() <= connections - 2, 20,
               "the end of both connections")


def test_an_upload_that_still_moves_is_taken_although_its_client_has_ended_it(start_gateway,
                                                                               scripted, key):
    """Longer than it takes to notice that a client left. All of the request is here already, and
    the upstream takes it slowly."""
    slow = [step for _ in range(20) for step in (("body", 5_000), ("pause", 0.1))]
    upstream = scripted.add(("head",), *slow, ("rest",), window=4096)
    gateway = start_gateway(upstream.url)
    with gateway.connect() as client:
        body = pattern(120_000)  # the kernel keeps it and its end for the gateway at once
        client.send(request_bytes("POST", f"/{key}", [("Content-Length", str(len(body)))]) + body)
        client.socket.shutdown(socket.SHUT_WR)
        wait_until(lambda: upstream.scripted, what="the end of the upload")
    assert upstream.taken == len(body) and not upstream.cut_short


def test_an_upload_that_stands_still_for_a_moment_is_taken(start_gateway, scripted, key):
    """Its client has ended it, and the upstream is busy for longer than it takes to notice that a
    client left."""
    upstream = scripted.add(("head",), ("body", 5_000), ("pause", 2), ("rest",), window=4096)
    gateway = start_gateway(upstream.url)
    with gateway.connect() as client:
        body = pattern(120_000)
        client.send(request_bytes("POST", f"/{key}", [("Content-Length", str(len(body)))]) + body)
        client.socket.shutdown(socket.SHUT_WR)
        wait_until(lambda: upstream.scripted, what="the end of the upload")
    assert upstream.taken == len(body) and not upstream.cut_short


def test_who_stays_gets_the_answer(gateway, upstream, key):
    """Longer than it takes to notice that somebody left."""
    with gateway.begin_post(f"/{key}", plan={"gate": key}) as client:
        upstream.arrived(1, path=f"/{key}")
        assert client.silent_for(1.5)
        upstream.open(key)
        assert_first(client.read())
        client.send_request("GET", "/")
        assert client.read().status == 201


def test_who_sent_the_next_request_already_has_not_left(gateway, upstream, key):
    with gateway.begin_post(f"/{key}", plan={"gate": key}) as client:
        client.send_request("GET", "/second")
        upstream.arrived(1, path=f"/{key}")
        assert client.silent_for(1.2)
        upstream.open(key)
        assert_first(client.read())
        assert client.read().status == 201


@WAYS
def test_who_waits_for_a_twin_frees_its_slot(start_limited, upstream, key, leave):
    gateway = start_limited(upstream, 6, defaults={"on_busy": "wait", "wait": "1h"})
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        waiting = [gateway.begin_post(key=key) for _ in range(5)]
        wait_until(lambda: gateway.get("/").status == 503, what="the last slot taken")
        for client in waiting:
            go(client, leave)
        wait_until(lambda: gateway.get("/").status == 201, what="a slot that came back")
        upstream.open(key)
        assert_first(running.read())
        for client in waiting:
            client.close()
    assert upstream.runs(key) == 1


def test_who_waits_and_stays_is_answered(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"defaults": {"on_busy": "wait", "wait": "1h"}})
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        waiting = [gateway.begin_post(key=key) for _ in range(3)]
        assert waiting[-1].silent_for(2.5)
        upstream.open(key)
        assert_first(running.read())
        for client in waiting:
            assert client.read().replayed
            client.close()


def test_a_half_of_an_upload_is_never_taken_for_the_whole(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    with gateway.connect() as client:
        client.send(request_bytes("POST", f"/{key}", [("Content-Length", "200000")])
                    + pattern(100_000))
        own_upstream.arrived(1, path=f"/{key}", whole=False)
    wait_until(lambda: own_upstream.connections()["open"] == 0)
    request, = own_upstream.requests(path=f"/{key}")
    assert not request["whole"]
