"""Health and readiness on the admin listener."""

import json
import os
import signal
import socket
import stat
import subprocess

import pytest

from support.admin import ask_socket, run_health
from support.fixed_answer import fixed_answer
from support.gateway import clean_environment
from support.ports import Port
from support.waiting import wait_until


def test_a_gateway_that_serves_is_healthy_and_ready(begin_admin, onceguard):
    _, admin = begin_admin()
    wait_until(admin.is_ready, what="readiness")
    answer = admin.get("/healthz")
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ok"})
    assert admin.get("/readyz").status == 200
    done = run_health(onceguard, admin.text)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done


def test_it_takes_requests_during_the_drain_delay_and_is_not_ready(begin_admin, fresh_key):
    gateway, admin = begin_admin(drain_delay="5s")
    wait_until(admin.is_ready, what="readiness")
    gateway.signal(signal.SIGTERM)
    wait_until(lambda: admin.reasons() == ["draining"], what="the drain")
    assert gateway.post(key=fresh_key()).status == 201
    assert gateway.wait() == 0


@pytest.mark.parametrize("body", ["", "ok", "[]", '{"status":"ok"}', '{"ready":"true"}',
                                  '{"ready":false}'])
def test_another_server_that_answers_200_is_not_ready(onceguard, body):
    with fixed_answer(body) as address:
        done = run_health(onceguard, address)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "answered 200 to /readyz; is it the admin listener of a gateway?" in done.stderr


def test_health_says_when_nobody_listens(onceguard):
    port = Port()
    address = f"127.0.0.1:{port.number}"
    done = run_health(onceguard, address)
    port.close()
    assert done.returncode == 1 and address in done.stderr, done


def test_a_unix_socket_is_for_its_user_alone_and_goes_with_the_process(begin_admin, onceguard,
                                                                       tmp_path):
    path = tmp_path / "admin.sock"
    gateway, _ = begin_admin(admin=f"unix:{path}")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert b" 200 " in ask_socket(path, "/healthz").split(b"\r\n")[0]
    wait_until(lambda: run_health(onceguard, f"unix:{path}").returncode == 0, what="readiness")
    gateway.stop()
    assert not path.exists()


def test_a_socket_that_a_killed_process_left_is_replaced(begin_admin, tmp_path):
    path = tmp_path / "admin.sock"
    gateway, _ = begin_admin(admin=f"unix:{path}")
    gateway.kill()
    assert path.exists()
    gateway.start()
    assert b" 200 " in ask_socket(path, "/healthz").split(b"\r\n")[0]


def test_an_address_that_is_taken_ends_the_start(begin_admin):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gateway, _ = begin_admin(admin=f"127.0.0.1:{taken.getsockname()[1]}", wait=False)
        assert gateway.wait() == 1
    gateway.says("in use")


def test_idle_connections_do_not_keep_health_from_being_asked(begin_admin):
    _, admin = begin_admin()
    held = [socket.create_connection(admin.address) for _ in range(50)]
    try:
        assert admin.get("/healthz").status == 200
    finally:
        for one in held:
            one.close()


def test_an_answer_with_members_of_other_types_ends_no_command(onceguard, own_upstream):
    address = own_upstream.url.removeprefix("http://")
    reasons = {"reasons": [5, {"reason": 7, "why": "x"}]}
    own_upstream.plan("/readyz", {"status": 503, "body": json.dumps(reasons)})
    done = run_health(onceguard, address)
    assert (done.returncode, done.stdout, done.stderr) == (1, "not ready\n  \n  : x\n", "")
    own_upstream.plan("/api/report", {"status": 500, "body": '{"detail": 5}'})
    done = subprocess.run([str(onceguard), "report", "--admin", address], capture_output=True,
                          text=True, timeout=60, check=False, env=clean_environment())
    assert done.returncode == 1 and "answered 500" in done.stderr, done
