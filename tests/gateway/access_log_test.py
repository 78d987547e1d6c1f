"""A line of the log says what each request got, and no reader of the log delays a request."""

import contextlib
import os
import signal

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.post_load import PostLoad
from support.redis import Redis
from support.samples import scrape
from support.waiting import wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def lines(gateway, **members):
    """The lines of requests with these members, once there is one."""
    def found():
        wanted = [line for line in gateway.log_lines() if line["event"] == "request"
                  and all(line.get(name) == value for name, value in members.items())]
        return wanted or None
    return wait_until(found, what=f"a line with {members}")


def line(gateway, **members):
    found = lines(gateway, **members)
    assert len(found) == 1, found
    return found[0]


def is_digest(text):
    return len(text) == 12 and set(text) <= set("0123456789abcdef")


def test_a_first_request_says_where_its_time_went(start_gateway, upstream, key):
    gateway = start_gateway(upstream, {"route": [{"path": "/pay"}]})
    fields = [("traceparent", PARENT), ("Authorization", "Bearer a")]
    assert_first(gateway.post(f"/pay/{key}?card=a-card-number", key=key, fields=fields,
                              plan={"delay_ms": 60}))
    seen = line(gateway, path=f"/pay/{key}")
    assert (seen["outcome"], seen["settled"], seen["status"]) == ("ran", "complete", 201)
    assert (seen["route"], seen["method"], seen["attempt"]) == ("/pay", "POST", 1)
    assert (seen["upstream"], seen["upstream_status"]) == ("shop", 201)
    assert (seen["client"], seen["trace"], seen["level"]) == ("127.0.0.1", TRACE, "info")
    assert is_digest(seen["record"]) and is_digest(seen["scope"])
    record = gateway.record(key)
    assert record["record"].startswith(seen["record"])
    assert record["scope"].startswith(seen["scope"])
    assert 60 <= seen["upstream_ms"] <= seen["ms"] < 20_000
    assert 0 < seen["claim_ms"] < seen["ms"] and 0 < seen["settle_ms"] < seen["ms"]
    steps = seen["claim_ms"] + seen["upstream_ms"] + seen["settle_ms"]
    assert steps <= seen["ms"] + 0.01
    assert "a-card-number" not in gateway.log() and key not in str(seen["record"])
    arrived = upstream.requests(key)[0]["fields"]
    assert ["traceparent", PARENT] in arrived


def test_the_fields_have_the_order_of_the_table(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    assert_first(gateway.post(f"/{key}", key=key, fields=[("traceparent", PARENT)]))
    events = gateway.command("check", "--events").stdout
    row = next(row for row in events.splitlines() if row.startswith("| `request`"))
    documented = row.split("|")[3].split()
    fields = list(line(gateway, path=f"/{key}"))[3:]  # after time, level and event
    assert fields == [name for name in documented if name in fields]


@pytest.mark.parametrize("sent", [
    f"00-{TRACE}-00f067aa0ba902b7", f"ff-{TRACE}-00f067aa0ba902b7-01",
    f"00-{TRACE.upper()}-00f067aa0ba902b7-01", f"00-{'0' * 32}-00f067aa0ba902b7-01",
    f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE}-00f067aa0ba902b7-01-more", "nonsense",
])
def test_a_malformed_trace_is_not_logged_and_passes(start_gateway, upstream, key, sent):
    gateway = start_gateway(upstream)
    assert_first(gateway.post(f"/{key}", key=key, fields=[("traceparent", sent)]))
    assert "trace" not in line(gateway, path=f"/{key}")
    assert ["traceparent", sent] in upstream.requests(key)[0]["fields"]


def test_a_replay_and_a_mismatch(start_gateway, upstream, key):
    gateway = start_gateway(upstream)
    first = assert_first(gateway.post(f"/{key}", key=key))
    assert_replay_of(gateway.post(f"/{key}", key=key), first)
    assert_problem(gateway.post(f"/{key}", key=key, body=b"{}"), 422, "key-reused", False)
    replay = line(gateway, outcome="replayed", path=f"/{key}")
    assert replay["status"] == 201
    assert "upstream" not in replay and "settled" not in replay and "attempt" not in replay
    other = line(gateway, outcome="mismatch", path=f"/{key}")
    assert (other["status"], other["problem"]) == (422, "key-reused")
    assert other["record"] == replay["record"]


def test_busy_and_waited(start_gateway, own_upstream, admin_listener, key):
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": admin_listener.text},
        "route": [{"path": "/wait", "on_busy": "wait", "wait": "20s"}]})
    for target, outcome in (("/now", "busy"), ("/wait", "waited")):
        this = key + target[1:]
        with gateway.begin_post(target, key=this, plan={"gate": this}) as running:
            own_upstream.arrived(1, this)
            with gateway.begin_post(target, key=this, plan={"gate": this}) as twin:
                if outcome == "busy":
                    assert_problem(twin.read(), 409, "in-progress", True, retry_after=True)
                else:
                    wait_until(lambda: scrape(admin_listener).value("onceguard_waiters") == 1,
                               what="the twin waiting")
                own_upstream.open(this)
                first = assert_first(running.read())
                if outcome == "waited":
                    assert_replay_of(twin.read(), first)
        seen = line(gateway, outcome=outcome)
        assert seen["path"] == target and "upstream" not in seen
        assert line(gateway, outcome="ran", path=target)["record"] == seen["record"]


@pytest.mark.parametrize("policy, plan, settled, reason", [
    ({}, {"status": 503}, "release", None),
    ({"outcome": {"500": "fail"}, "backoff": "60s"}, {"status": 500}, "fail", None),
    ({}, {"status": 500}, "unknown", "upstream_status"),
    ({}, {"drop": "head"}, "unknown", "upstream_broken"),
    ({"upstream_timeout": "200ms"}, {"gate": "never"}, "unknown", "upstream_timeout"),
])
def test_what_became_of_the_record(start_gateway, own_upstream, key, policy, plan, settled,
                                   reason):
    gateway = start_gateway(own_upstream, {"defaults": policy})
    status = gateway.post(f"/{key}", key=key, plan=plan).status
    seen = line(gateway, path=f"/{key}", outcome="ran")
    assert (seen["settled"], seen["status"]) == (settled, status)
    assert seen.get("reason") == reason
    if settled == "release":
        return
    again = gateway.post(f"/{key}", key=key, plan=plan)
    outcome = "backoff" if settled == "fail" else "unknown"
    assert line(gateway, path=f"/{key}", outcome=outcome)["problem"] == again.problem


def test_a_run_that_another_lease_superseded(start_gateway, own_upstream, key):
    """It ran, its record is another's, and its client does not get its answer."""
    gateway = start_gateway(own_upstream)
    with gateway.begin_post("/first", key=key, plan={"gate": key}) as first:
        own_upstream.arrived(1, key)
        assert gateway.command("keys", "complete", key, "--status", "202", "--force") \
            .returncode == 0
        own_upstream.open(key)
        assert first.read().status == 202
    seen = line(gateway, path="/first")
    assert (seen["outcome"], seen["settled"], seen["status"]) == ("ran", "superseded", 202)
    assert seen["upstream_status"] == 201


def test_a_run_whose_key_runs_again_meanwhile(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    gates = [f"{key}-1", f"{key}-2"]
    with gateway.begin_post(key=key, plan={"gate": gates[0]}) as first:
        own_upstream.arrived(1, key)
        assert gateway.command("keys", "release", key, "--force").returncode == 0
        with gateway.begin_post(key=key, plan={"gate": gates[1]}) as second:
            own_upstream.arrived(2, key)
            own_upstream.open(gates[0])
            assert_problem(first.read(), 409, "outcome-unknown", False)
            own_upstream.open(gates[1])
            assert_first(second.read())
    seen = line(gateway, settled="superseded")
    assert (seen["outcome"], seen["problem"], seen["attempt"]) == ("ran", "outcome-unknown", 1)
    assert line(gateway, settled="complete")["attempt"] == 2


def test_an_answer_that_was_not_kept(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"max_answer_body": "1KiB"}})
    assert gateway.post(key=key, plan={"size": 4096}).status == 201
    assert_problem(gateway.post(key=key, plan={"size": 4096}), 409, "answer-not-kept", False)
    assert line(gateway, outcome="not_kept")["problem"] == "answer-not-kept"
    assert line(gateway, outcome="ran")["status"] == 201


def test_refusals_name_their_problem(start_gateway, upstream):
    gateway = start_gateway(upstream, {"route": [{"path": "/must", "required": True}]})
    assert_problem(gateway.post("/must"), 400, "key-missing", False)
    assert_problem(gateway.post("/x", key='"'), 400, "key-malformed", False)
    missing = line(gateway, problem="key-missing")
    assert (missing["outcome"], missing["status"], missing["route"]) == ("refused", 400, "/must")
    assert line(gateway, problem="key-malformed")["outcome"] == "refused"
    with gateway.connect() as connection:
        connection.reader.expect("GET")
        connection.send(b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.read().status == 400
    assert line(gateway, problem="bad-request")["status"] == 400


def test_an_upstream_that_takes_no_connection(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream)
    own_upstream.refuse()
    assert_problem(gateway.post(key=key), 502, "upstream-unreachable", True)
    seen = line(gateway, outcome="ran")
    assert (seen["settled"], seen["problem"]) == ("release", "upstream-unreachable")
    assert seen["upstream"] == "shop" and "upstream_status" not in seen


def test_a_client_that_leaves_has_a_line(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"gateway": {"access_log": "all"}})
    with gateway.connect() as connection:
        connection.send(b"GET /left HTTP/1.1\r\nHost: a\r\n"
                        b"X-Trace-Plan: {\"gate\": \"never\"}\r\n\r\n")
        wait_until(lambda: own_upstream.requests(path="/left"), what="the request upstream")
    seen = line(gateway, path="/left")
    assert (seen["status"], seen["outcome"], seen["why"]) == (0, "unguarded", "method")


@pytest.mark.parametrize("rule, expected", [
    ("guarded", {"key"}), ("all", {"key", "keyless", "get"}), ("off", set()),
])
def test_which_requests_have_a_line(start_gateway, upstream, key, rule, expected):
    gateway = start_gateway(upstream, {"gateway": {"access_log": rule}})
    assert_first(gateway.post("/keyless"))
    assert gateway.get("/get").status == 201
    assert_first(gateway.post("/key", key=key))
    assert gateway.stop() == 0  # writes what is queued
    seen = {each["path"][1:]: each for each in gateway.log_lines() if each["event"] == "request"}
    assert set(seen) == expected
    if rule == "all":
        assert (seen["keyless"]["outcome"], seen["keyless"]["why"]) == ("unguarded", "no_key")
        assert (seen["get"]["why"], seen["get"]["upstream_status"]) == ("method", 201)


def test_without_its_store_a_request_that_may_run_says_why(start_gateway, upstream, key):
    redis = Redis().start()
    try:
        gateway = start_gateway(upstream, {
            "store": {"url": f"redis://127.0.0.1:{redis.port.number}", "timeout": "300ms"},
            "route": [{"path": "/open", "store_failure": "open"}]})
        redis.crash()
        assert gateway.post("/open", key=key).status == 201
        assert_problem(gateway.post("/closed", key=key), 503, "store-unreachable", True,
                       retry_after=True)
        passed = line(gateway, outcome="unguarded")
        assert (passed["why"], passed["path"], passed["status"]) == ("store", "/open", 201)
        refused = line(gateway, outcome="store_failed")
        assert (refused["problem"], refused["path"]) == ("store-unreachable", "/closed")
    finally:
        redis.close()


def test_rotation_of_the_log_file_under_load_loses_nothing(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"gateway": {"log_file": "requests.log"}})
    path = gateway.folder / "requests.log"
    with PostLoad(gateway) as load:
        for number in range(5):
            load.wait_for(50)
            path.rename(gateway.folder / f"requests.{number}")
            gateway.signal(signal.SIGUSR1)
            wait_until(lambda: path.exists() and "log-file-reopened" in path.read_text(), 20,
                       "the new file")
        wait_until(lambda: gateway.open_files("requests") == [str(path)], 20,
                   "the renamed files being closed")
    assert gateway.stop() == 0
    files = [gateway.folder / f"requests.{number}" for number in range(5)] + [path]
    gateway.log_path = gateway.folder / "all"
    gateway.log_path.write_text("".join(each.read_text() for each in files))
    logged = [each["path"] for each in gateway.log_lines() if each["event"] == "request"]
    assert sorted(logged) == sorted(load.paths())
    assert all(each.read_text().endswith("\n") for each in files)
    assert path.stat().st_mode & 0o007 == 0, "others may read the clients' addresses"


def test_a_log_file_that_cannot_be_reopened_stays(start_gateway, own_upstream, key):
    folder = "logs"
    gateway = start_gateway(own_upstream, {"gateway": {"log_file": f"{folder}/gateway.log"}},
                            started=False)
    (gateway.folder / folder).mkdir()
    gateway.start()
    (gateway.folder / folder).rename(gateway.folder / "moved")
    gateway.log_path = gateway.folder / "moved" / "gateway.log"
    gateway.signal(signal.SIGUSR1)
    failed = gateway.logged("log-file-not-reopened")[0]
    assert failed["why"] == "No such file or directory" and failed["level"] == "error"
    assert_first(gateway.post(f"/{key}", key=key))
    assert line(gateway, path=f"/{key}")["outcome"] == "ran"
    assert gateway.stop() == 0


def test_a_log_file_that_cannot_be_opened_is_a_failure_at_the_start(start_gateway, own_upstream):
    gateway = start_gateway(own_upstream, {"gateway": {"log_file": "missing/gateway.log"}},
                            started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 1
    gateway.says("log_file missing/gateway.log: No such file or directory")


def test_a_fifo_that_nobody_reads_is_a_failure_at_the_start(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"gateway": {"log_file": "fifo"}}, started=False)
    os.mkfifo(gateway.folder / "fifo")
    gateway.start(wait=False)
    assert gateway.wait() == 1
    gateway.says("log_file fifo: a FIFO that nobody reads")
    reader = os.open(gateway.folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    gateway.start()
    assert_first(gateway.post(f"/{key}", key=key))
    assert gateway.stop() == 0
    assert f'"path":"/{key}"' in os.read(reader, 65536).decode()
    os.close(reader)


def test_on_a_terminal_a_line_is_text(start_gateway, own_upstream, key):
    master, terminal = os.openpty()
    gateway = start_gateway(own_upstream, started=False)
    gateway.environment = {"NO_COLOR": "1", "TERM": "xterm"}
    gateway.start(log=terminal)
    os.close(terminal)
    assert_first(gateway.post(f"/{key}", key=key))
    gateway.signal(signal.SIGTERM)
    text = b""
    with contextlib.suppress(OSError):  # the end of the terminal
        while piece := os.read(master, 65536):
            text += piece
    os.close(master)
    assert gateway.wait() == 0
    written = [row for row in text.decode().splitlines() if f"path=/{key}" in row]
    assert len(written) == 1 and " info    request outcome=ran settled=complete" in written[0]
