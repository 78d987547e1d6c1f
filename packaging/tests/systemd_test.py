"""The units under systemd itself, which is the first process of a namespace here."""

import http.client
import json
import socket
import time

import pytest

from debian import Booted, package, raised

FIRST, REPEAT = [201, "charge 1", None], [201, "charge 1", "true"]
GATEWAY = "onceguard-gateway"


@pytest.fixture
def booted(machine):
    machine.apt("install", "--no-install-recommends", "systemd")
    # A machine that has been booted before, and waits for no network.
    machine.run("systemd-machine-id-setup")
    machine.run("systemctl", "mask", "systemd-networkd-wait-online.service")
    running = Booted(machine)
    yield running
    running.close()


def waits_for(condition, message):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, message()
        time.sleep(0.1)


def test_the_gateway_is_ready_reloads_and_restarts(booted):
    booted.run("systemctl", "start", GATEWAY)
    assert booted.charge("order-17")["answers"] == [[FIRST, REPEAT]]
    booted.run("systemctl", "reload", GATEWAY)
    before = booted.main_process()
    booted.run("systemctl", "restart", GATEWAY)
    assert booted.main_process() != before
    assert booted.charge("order-17")["answers"] == [[REPEAT, REPEAT]]
    asked = ("runuser", "-u", "onceguard", "--", "onceguard", "health", "--admin",
             "unix:/run/onceguard/admin.sock")
    assert booted.run(*asked).stdout == "ready\n"
    booted.run("systemctl", "stop", GATEWAY)
    assert booted.run("systemctl", "show", "-P", "Result", GATEWAY).stdout == "success\n"


SERVE, SOCKET = "onceguard-serve", "/run/onceguard-serve/serve.sock"


def verdict(booted, key):
    asked = http.client.HTTPConnection("localhost", timeout=60)
    asked.sock = socket.socket(socket.AF_UNIX)
    asked.sock.connect(booted.seen_from_outside(SOCKET))
    claim = {"scope": "a", "key": key, "fingerprint": "x", "renew": "client"}
    asked.request("POST", "/v1/operations", json.dumps(claim), {"Content-Type": "application/json"})
    return json.loads(asked.getresponse().read())["verdict"]


def test_the_decision_service_waits_for_a_person_and_serves_its_group(booted):
    assert booted.run("systemctl", "is-enabled", SERVE, check=False).stdout == "disabled\n"
    booted.run("systemctl", "start", SERVE)
    assert [verdict(booted, "order-17"), verdict(booted, "order-17")] == ["run", "busy"]
    for user, may in (("onceguard", 0), ("nobody", 1)):
        done = booted.run("runuser", "-u", user, "--", "test", "-w", SOCKET, check=False)
        assert done.returncode == may, user
    booted.run("systemctl", "reload", SERVE)
    before = booted.main_process(SERVE)
    booted.run("systemctl", "restart", SERVE)
    assert booted.main_process(SERVE) != before
    assert verdict(booted, "order-18") == "run"
    booted.run("systemctl", "stop", SERVE)
    assert booted.run("systemctl", "show", "-P", "Result", SERVE).stdout == "success\n"


def test_a_wrong_configuration_is_not_tried_again(machine, booted):
    machine.path("/etc/onceguard/onceguard.toml").write_text("[gateway]\nlisten = 8080\n")
    assert booted.run("systemctl", "restart", GATEWAY, check=False).returncode != 0
    assert booted.run("systemctl", "is-active", GATEWAY, check=False).stdout == "failed\n"
    assert booted.run("systemctl", "show", "-P", "NRestarts", GATEWAY).stdout == "0\n"


def test_the_socket_unit_starts_the_gateway_at_the_first_connection(booted):
    booted.run("systemctl", "stop", GATEWAY)
    booted.run("systemctl", "start", f"{GATEWAY}.socket")
    assert booted.main_process() == "0"
    assert booted.charge("order-17")["answers"] == [[FIRST, REPEAT]]
    assert booted.main_process() != "0"


def test_an_upgrade_hands_the_sockets_over(machine, booted, tmp_path):
    booted.run("systemctl", "start", GATEWAY)
    assert booted.charge("order-17")["answers"] == [[FIRST, REPEAT]]
    before = booted.main_process()
    later = machine.take(raised(package("onceguard"), tmp_path, "99.0-1"))
    booted.run("dpkg", "-i", later)
    waits_for(lambda: booted.main_process() not in (before, "0"), booted.journal)
    assert "handed-over" in booted.journal()
    assert booted.charge("order-17")["answers"] == [[REPEAT, REPEAT]]
    assert booted.run("systemctl", "show", "-P", "NRestarts", GATEWAY).stdout == "0\n"
