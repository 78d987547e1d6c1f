"""The life of a gateway process: its lines, signals and exit codes."""

import contextlib
import signal
import sqlite3
import subprocess

import pytest

from support.client import all_at_once, request_bytes
from support.gateway import clean_environment
from support.waiting import wait_until


def events(gateway):
    return [line["event"] for line in gateway.log_lines()]


def test_the_gateway_says_where_it_listens(gateway):
    # A connection may be taken a moment before the line is written.
    line = wait_until(lambda: next(
        (line for line in gateway.log_lines() if line["event"] == "listening"), None))
    assert line["address"] == f"127.0.0.1:{gateway.port.number}"
    assert line["level"] == "info"
    assert line["store"] == "sqlite"


def test_sigterm_drains_and_ends_with_0(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream)
    gateway.signal(signal.SIGTERM)
    assert gateway.wait() == 0
    said = events(gateway)
    assert said.index("draining") < said.index("stopped")


def test_a_second_sigint_ends_the_gateway_at_once(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"gateway": {"drain": "1h"}})
    connection = gateway.begin_post(key=key, plan={"gate": "never"})
    wait_until(lambda: gateway.state(key) == "in_progress", 20, "the request running")
    gateway.signal(signal.SIGINT)
    wait_until(lambda: "draining" in events(gateway), 20, "the drain")
    assert gateway.process.poll() is None
    gateway.signal(signal.SIGINT)
    assert gateway.wait() == 1
    connection.close()


def test_a_first_sigint_during_a_drain_changes_nothing(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"gateway": {"drain": "1h"}})
    with gateway.begin_post(key=key, plan={"gate": "never"}):
        wait_until(lambda: gateway.state(key) == "in_progress", 20, "the request running")
        gateway.signal(signal.SIGTERM)
        gateway.logged("draining")
        gateway.signal(signal.SIGINT)
        for count in 1, 2:  # when the second is logged, the signal before both was handled
            gateway.signal(signal.SIGUSR1)
            gateway.logged("signal-ignored", count)
        assert gateway.process.poll() is None
        gateway.signal(signal.SIGINT)
        assert gateway.wait() == 1
    assert events(gateway)[-1] == "stopped-early"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"])
def test_a_signal_during_the_first_attempt_on_the_store_has_its_effect(start_gateway, own_upstream,
                                                                       name):
    gateway = start_gateway(own_upstream, {"store": {"timeout": "5s"}})
    gateway.stop()
    gateway.log_path.unlink()
    with contextlib.closing(sqlite3.connect(gateway.database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        gateway.start(wait=False)
        wait_until(lambda: gateway.open_files("onceguard.db"), what="the attempt")
        gateway.signal(getattr(signal, name))
    if name == "SIGHUP":
        gateway.logged("reloaded")
        assert gateway.stop() == 0
    else:
        assert gateway.wait() == 0
        assert "draining" in events(gateway)
    assert events(gateway)[-1] == "stopped"


@pytest.mark.parametrize("flag, secret", [
    ("redis://me:hunter2@127.0.0.1:1", "redis://me:*******@127.0.0.1:1"),
    ("postgresql://127.0.0.1:1/d?user=me&password=hunter2&sslmode=disable",
     "postgresql://127.0.0.1:1/d?user=me&password=*******&sslmode=disable"),
])
def test_the_list_of_processes_shows_no_password(onceguard, own_upstream, tmp_path, flag, secret):
    process = subprocess.Popen(
        [onceguard, "gateway", "--listen", "127.0.0.1:0", "--upstream", own_upstream.url,
         "--store", flag], cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=clean_environment())
    try:
        lines = []
        while not any("listening" in line for line in lines):
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        with open(f"/proc/{process.pid}/cmdline", encoding="ascii") as listed:
            arguments = listed.read().split("\0")
        assert secret in arguments
        process.terminate()
        assert "hunter2" not in "".join(lines) + process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()


def test_a_port_in_use_is_a_failure_at_run_time(start_gateway, own_upstream):
    first = start_gateway(own_upstream)
    second = start_gateway(own_upstream, {"gateway": {"listen": f"127.0.0.1:{first.port.number}"}},
                           started=False)
    second.start(wait=False)
    assert second.wait() == 1
    assert "start-failed" in events(second)


def test_sighup_applies_what_can_change_and_names_the_rest(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    gateway.reload({"defaults": {"required": True}, "gateway": {"max_waiters": 5}})
    wait_until(lambda: "reloaded" in events(gateway), 20, "the reload")
    assert gateway.post().status == 400
    assert gateway.post(key=key).status < 300
    named = [line["option"] for line in gateway.log_lines()
             if line["event"] == "restart-needed"]
    assert named == ["[gateway] max_waiters"]


def test_sighup_with_a_wrong_file_changes_nothing(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream)
    gateway.config_path.write_text(gateway.config_path.read_text() + "\n[defalts]\nx = 1\n")
    gateway.signal(signal.SIGHUP)
    refused = "reload-refused"
    wait_until(lambda: refused in events(gateway), 20, "the refusal")
    said = [line for line in gateway.log_lines() if line["event"] == "configuration"]
    assert any("did you mean" in line["remark"] for line in said)
    assert all(line["level"] == "error" for line in said if "unknown" in line["remark"])
    assert gateway.post().status < 300


BURST = 200  # lines of one event, of which twenty a second are written


def burst(gateway):
    requests = [request_bytes("GET", "/", [], b"")] * BURST
    assert {answer.status for answer in all_at_once(gateway.address, requests)} == {502}


def test_an_outage_does_not_fill_the_log(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream)
    own_upstream.refuse()

    def reported_missing():
        burst(gateway)
        return [line for line in gateway.log_lines() if line["event"] == "lines-left-out"]

    reported = wait_until(reported_missing, 30, "a line about those that are missing")
    assert {line["event_left_out"] for line in reported} == {"upstream-unreachable"}
    assert all(line["count"] > 0 for line in reported)


def left_out(gateway):
    return [line for line in gateway.log_lines() if line["event"] == "lines-left-out"]


def assert_all_accounted(gateway, requests):
    """Each request has its line, or is counted as left out."""
    lines = [line for line in gateway.log_lines() if line["event"] == "upstream-unreachable"]
    assert len(lines) + sum(line["count"] for line in left_out(gateway)) == requests


def test_another_event_reports_what_a_lone_burst_left_out(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream)
    own_upstream.refuse()
    burst(gateway)

    def reported_after_a_signal():
        gateway.signal(signal.SIGUSR1)
        return left_out(gateway)
    wait_until(reported_after_a_signal, 20, "the number of lines that were left out")
    assert gateway.stop() == 0
    assert_all_accounted(gateway, BURST)


def test_the_stop_reports_what_a_burst_left_out(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream)
    own_upstream.refuse()
    burst(gateway)
    assert gateway.stop() == 0
    assert left_out(gateway)
    assert_all_accounted(gateway, BURST)


@pytest.mark.parametrize("listen, why", [
    ("no-such-host.invalid:0", "resolve: "),
    ("203.0.113.7:0", "bind: Cannot assign requested address"),
])
def test_an_address_that_is_not_here_is_a_failure_at_run_time(start_gateway, own_upstream, listen,
                                                              why):
    gateway = start_gateway(own_upstream, {"gateway": {"listen": listen}}, started=False)
    gateway.start(wait=False)
    assert gateway.wait(120) == 1  # a name is looked for as long as the resolver likes
    line = gateway.log_lines()[-1]
    assert (line["level"], line["event"]) == ("error", "start-failed")
    assert line["why"].startswith(f"listening on {listen}: {why}")


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1",
                                    "127.0.0.1:65536", "[::1:80", ":"])
def test_an_address_that_is_none_is_a_wrong_configuration(start_gateway, own_upstream, listen):
    gateway = start_gateway(own_upstream, {"gateway": {"listen": listen}}, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    gateway.says(': [gateway] listen: expected HOST:PORT such as "127.0.0.1:8080"')
    assert not gateway.database.exists()


@pytest.mark.parametrize("command", [["gateway"], ["check"], ["stats"], ["keys", "list"]],
                         ids=" ".join)
@pytest.mark.parametrize("name, why", [("missing.toml", "No such file or directory"),
                                       (".", "Is a directory"),
                                       ("file/below", "Not a directory")])
def test_a_configuration_that_cannot_be_read(onceguard, tmp_path, command, name, why):
    (tmp_path / "file").write_text("")
    done = subprocess.run([str(onceguard), *command, "--config", name], cwd=tmp_path, text=True,
                          capture_output=True, timeout=60, check=False, env=clean_environment())
    assert done.returncode == 3, done
    assert f"{name}: can't be read: {why}\n" in done.stderr
