"""The sockets that a gateway is given at its start (LISTEN_FDS)."""

import contextlib
import os
import socket

import pytest

from support.client import fields_for
from support.expecting import assert_first
from support.ports import Port
from support.upgrading import SocketKeeper
from support.waiting import wait_until


@pytest.fixture
def keep(start_gateway, upstream):
    """A gateway, not started, whose sockets somebody keeps."""
    kept = []

    def start(others=None, **config):
        gateway = start_gateway(upstream, config, started=False)
        kept.append(SocketKeeper(gateway, **(others or {})))
        return gateway
    yield start
    for one in kept:
        one.close()


def test_a_request_that_came_before_the_process_is_answered(keep, fresh_key):
    gateway = keep()
    for _ in range(2):
        with gateway.begin_post(key=fresh_key()) as early:
            gateway.start()
            assert_first(early.read())
        assert gateway.stop() == 0


def test_a_socket_with_a_name_goes_before_the_address_of_the_file(keep, fresh_key):
    with contextlib.closing(Port()) as other:
        gateway = keep(gateway={"listen": f"127.0.0.1:{other.number}"})
        gateway.start()
        assert_first(gateway.post(key=fresh_key()))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", other.number), timeout=5)
        assert gateway.logged("listening")[0]["address"] == f"127.0.0.1:{gateway.port.number}"


def test_without_names_addresses_tell(keep, fresh_key):
    gateway = keep()
    gateway.launcher[2] = "LISTEN_FDNAMES="
    gateway.start()
    assert_first(gateway.post(key=fresh_key()))


def test_sockets_for_another_process_are_left_alone(keep, fresh_key):
    """LISTEN_PID is that of a parent: a program between has not cleaned up."""
    gateway = keep()
    gateway.launcher[-2] = gateway.launcher[-2].replace("$$", "1")
    gateway.start(wait=False)
    assert gateway.wait() == 1
    assert "bind" in gateway.logged("start-failed")[0]["why"]


def test_admin_is_passed_as_well(keep, admin_listener):
    gateway = keep({"admin": admin_listener.address}, gateway={"admin": admin_listener.text})
    gateway.start()
    wait_until(lambda: admin_listener.get("/readyz").status == 200, what="the end of the start")


def test_admin_elsewhere_than_the_file_says_is_refused(keep, admin_listener):
    """The file's address was found to need no token."""
    gateway = keep({"admin": admin_listener.address}, gateway={"admin": "unix:admin.sock"})
    gateway.start(wait=False)
    assert gateway.wait() == 3
    assert admin_listener.text in gateway.logged("start-failed")[0]["why"]


def test_a_socket_of_no_use_is_said(keep, fresh_key):
    with contextlib.closing(Port()) as other:
        gateway = keep({"metrics": ("127.0.0.1", other.number)})
        gateway.start()
        line, = gateway.logged("passed-socket-not-used")
        assert (line["name"], line["address"]) == ("metrics", f"127.0.0.1:{other.number}")
        assert_first(gateway.post(key=fresh_key()))


def test_a_socket_that_does_not_listen_is_refused(keep):
    gateway = keep()
    connected = socket.socketpair()
    os.dup2(connected[0].fileno(), gateway.passed[0])
    gateway.start(wait=False)
    assert gateway.wait() in (1, 3)
    assert "no TCP socket" in gateway.logged("start-failed")[0]["why"]
    for one in connected:
        one.close()


def test_what_systemd_itself_passes_is_taken(start_gateway, upstream, key):
    gateway = start_gateway(upstream, started=False)
    gateway.launcher = ["systemd-socket-activate", "--fdname=gateway", "-l",
                        f"127.0.0.1:{gateway.port.number}"]
    gateway.start()  # by the first connection
    assert_first(gateway.post(key=key))
    gateway.says(f'"event":"listening","address":"127.0.0.1:{gateway.port.number}"')
    with gateway.connect() as connection:
        connection.send_request("POST", "/x", fields_for(key + "2"), b"x")
        assert_first(connection.read())
    assert gateway.stop() == 0
