"""`onceguard report` over the lines of a log, and over what a gateway has observed."""

import json
import subprocess

import pytest

from support.admin import Admin
from support.gateway import clean_environment
from support.waiting import wait_until


def request(outcome, record=None, route="/pay", time="2026-01-31T12:00:00.250Z", **more):
    line = {"time": time, "level": "info", "event": "request", "outcome": outcome, "status": 201,
            "route": route, **more}
    return {**line, "record": record} if record else line


def observed(would_be, record=None, **more):
    return request("observed", record, would_be=would_be, **more)


def text_of(lines):
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


@pytest.fixture
def run(onceguard):
    """Runs the command, with the lines on its standard input."""
    def start(*arguments, lines=()):
        return subprocess.run([str(onceguard), "report", *arguments], input=text_of(lines),
                              capture_output=True, text=True, timeout=60, check=False,
                              env=clean_environment())
    return start


@pytest.fixture
def routes(run):
    """The routes of the report with --json, by name."""
    def read(*arguments, lines=()):
        done = run("--json", *arguments, lines=lines)
        assert done.returncode == 0, done
        return {one["route"]: one for one in json.loads(done.stdout)["routes"]}
    return read


def settings(route):
    return [one["setting"] for one in route["advice"]]


def test_each_route_is_counted_by_what_its_requests_got(routes):
    found = routes(lines=[
        request("ran", "a"), request("replayed", "a"), request("waited", "b"),
        request("busy", "b"), request("mismatch", "a"), request("unguarded", why="no_key"),
        request("refused", problem="key-missing"), request("ran", "c", route="/refunds")])
    pay = found["/pay"]
    assert (pay["requests"], pay["observed"], pay["with_key"]) == (7, 0, 5)
    assert (pay["repeats"], pay["replays"], pay["mismatches"], pay["refused"]) == (3, 2, 1, 1)
    assert pay["problems"] == {"key-missing": 1}
    assert pay["outcomes"]["ran"] == 1 and pay["would_be"] == {}
    assert found["/refunds"]["requests"] == 1


def test_observed_requests_are_counted_by_what_they_would_have_got(routes):
    pay = routes(lines=[
        observed("ran", "a"), observed("replayed", "a"), observed("unguarded"),
        {"event": "observed", "time": "2026-01-31T13:00:00.000Z", "route": "/pay", "requests": 3,
         "repeats": 1, "repeats_run_again": 1, "contents_repeated": 2}])["/pay"]
    assert (pay["requests"], pay["observed"], pay["with_key"], pay["repeats"]) == (3, 3, 2, 1)
    assert (pay["contents_repeated"], pay["run_again"]) == (2, 1)
    assert pay["would_be"] == {"ran": 1, "replayed": 1, "unguarded": 1}


@pytest.mark.parametrize("lines, advised", [
    ([observed("ran", "a"), observed("replayed", "a")], ["required = true", "observe = false"]),
    ([observed("unguarded")], ["key"]),
    ([observed("ran", "a"), observed("unguarded")], ["required = false", "observe = false"]),
    ([observed("ran", "a"), observed("mismatch", "a")],
     ["fingerprint", "required = true", "observe = true"]),
    ([observed("ran", "a"), observed("refused", problem="key-missing")],
     ["required = false", "observe = true"]),
    ([observed("ran", "a"), observed("refused", problem="scope-missing")],
     ["scope", "observe = true"]),
    ([observed("ran", "a"), observed("refused", problem="key-malformed"),
      observed("refused", "b", problem="request-too-large"),
      observed("refused", problem="bad-request")],
     ["key_syntax", "max_request_body", "observe = true"]),
    ([request("ran", "a"), request("unguarded", why="method")], ["required = true"]),
    ([request("ran", "a"), request("ran", "b")], ["required = true"]),
])
def test_it_says_what_to_switch_on_next(routes, lines, advised):
    route = routes(lines=lines)["/pay"]
    assert settings(route) == advised
    assert all(one["why"] for one in route["advice"])


def test_several_files_are_one_report(routes, run, tmp_path):
    for name, hour in (("one", 12), ("two", 11)):
        (tmp_path / name).write_text(text_of([request("ran", name, time=f"2026-01-31T{hour}:00")]))
    files = [str(tmp_path / name) for name in ("one", "two")]
    assert routes(*files)["/pay"]["requests"] == 2
    whole = json.loads(run("--json", *files).stdout)
    assert (whole["from"], whole["until"]) == ("2026-01-31T11:00", "2026-01-31T12:00")


def test_lines_that_are_none_of_a_log_are_skipped_and_counted(run):
    done = run("--json", lines=["no JSON", "[1]", {"event": "listening"}, request("ran", "a"), ""])
    assert done.returncode == 0 and "2 lines" in done.stderr
    whole = json.loads(done.stdout)
    assert whole["lines_skipped"] == 2 and whole["routes"][0]["requests"] == 1


def test_fields_of_another_type_end_nothing(routes):
    found = routes(lines=[{"event": "request", "route": 5, "outcome": [], "time": None},
                          {"event": "observed", "route": "/pay", "contents_repeated": "x"}])
    assert found[""]["requests"] == 1 and found["/pay"]["contents_repeated"] == 0


def test_the_page_has_a_line_for_each_route_and_is_safe_for_a_terminal(run):
    done = run(lines=[observed("ran", "a"), observed("replayed", "a"),
                      request("ran", "c", route="/\x1b[2J")])
    assert done.returncode == 0
    assert "\x1b" not in done.stdout and "/pay (observed)" in done.stdout
    assert "observe = false" in done.stdout and "would have got the first answer" in done.stdout


def test_without_a_request_nothing_is_found(run):
    assert run(lines=[{"event": "listening"}]).returncode == 5


@pytest.mark.parametrize("arguments, code, words", [
    (["/no/such/file"], 1, "/no/such/file"),
    (["--admin", "127.0.0.1:1", "file"], 2, "--admin"),
    (["--admin", "nowhere"], 2, "--admin"),
    (["--admin", "127.0.0.1:1"], 4, "127.0.0.1:1"),
])
def test_a_source_that_can_not_be_read_is_named(run, arguments, code, words):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "") and words in done.stderr


def test_a_gateway_and_its_log_report_the_same(start_gateway, own_upstream, routes, fresh_key):
    admin = Admin()
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": admin.text},
        "defaults": {"observe": True}, "route": [{"path": "/pay"}]})
    key = fresh_key()
    for body in (b"{}", b"{}", b'{"other":1}'):
        gateway.post("/pay", key=key, body=body)
    for _ in range(2):
        gateway.post("/pay", body=b'{"amount":1}')

    def asked():
        found = routes("--admin", admin.text)
        return found.get("/pay") if found.get("/pay", {}).get("requests") == 5 else None
    live = wait_until(asked, what="5 requests")
    assert (live["with_key"], live["repeats"], live["mismatches"]) == (3, 1, 1)
    assert (live["contents_repeated"], live["run_again"]) == (1, 2)
    assert settings(live) == ["fingerprint", "scope", "required = true", "required = false",
                              "observe = true"]
    assert gateway.stop() == 0
    logged = routes(lines=gateway.log().splitlines())["/pay"]
    for name in ("requests", "observed", "with_key", "repeats", "replays", "mismatches",
                 "contents_repeated", "would_be"):
        assert logged[name] == live[name], name
    admin.close()


def test_a_gateway_and_its_log_report_the_same_problems(start_gateway, own_upstream, routes, key):
    admin = Admin()
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": admin.text},
        "defaults": {"observe": True, "max_request_body": "64"}, "route": [{"path": "/pay"}]})
    problems = {"key-malformed": 1, "request-too-large": 2}
    for used, body in (("", b"{}"), (key, b"x" * 100), (key, b"{}")):
        assert gateway.post("/pay", key=used, body=body).status == 201
    own_upstream.refuse()
    assert gateway.post("/pay", key=key, body=b"x" * 100).status == 502

    def asked():
        found = routes("--admin", admin.text).get("/pay", {})
        return found if found.get("requests") == 4 else None
    live = wait_until(asked, what="4 requests")
    assert live["problems"] == problems
    assert gateway.stop() == 0
    logged = routes(lines=gateway.log().splitlines())["/pay"]
    for name in ("problems", "with_key", "refused", "would_be"):
        assert logged[name] == live[name], name
    admin.close()


# ---- routes to paste --------------------------------------------------------------------------
BEARER = ("Authorization", "Bearer ann")


@pytest.fixture
def recommend(run, onceguard, tmp_path):
    """The routes that are recommended, after `check` has taken them."""
    def ask(*arguments, lines=()):
        done = run("--toml", *arguments, lines=lines)
        assert (done.returncode, done.stderr) == (0, ""), done
        file = tmp_path / "pasted.toml"
        file.write_text('[gateway]\ndrain = "60s"\n[defaults]\noutcome = {}\n'
                        'scope = "credential"\n[[upstream]]\nname = "shop"\n'
                        f'url = "http://127.0.0.1:9"\n{done.stdout}')
        checked = subprocess.run([str(onceguard), "check", "--config", file], check=False,
                                 capture_output=True, text=True, env=clean_environment())
        assert checked.returncode == 0, checked
        assert checked.stdout.splitlines()[0] == f"{file}: ok", (checked, done.stdout)
        return done.stdout
    return ask


def route_of(text, path):
    """The lines of one route and of the evidence before it."""
    blocks = [block for block in text.split("\n\n") if f'path = "{path}"' in block]
    assert len(blocks) == 1, text
    return blocks[0].splitlines()


def test_routes_to_paste_from_what_was_observed(start_gateway, own_upstream, recommend, fresh_key):
    admin = Admin()
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": admin.text}, "defaults": {"observe": True}})

    def send(path, key, body, *fields):
        assert gateway.post(path, key=key, body=body, fields=list(fields)).status == 201
    for number in range(3):
        key = fresh_key()
        for attempt in range(2):
            send("/v1/orders", key, b'{"item":%d,"sent_at":%d}' % (number, attempt), BEARER)
        send("/refunds/17", key, b'{ "id": 1 }', ("Cookie", "theme=x; sid=1"))
        send("/refunds/17", key, b'{"id":1}', ("Cookie", "theme=x; sid=1"))
        send("/gifts", fresh_key(), b"{}", ("X-User", "ann"))
        send("/bonus", fresh_key(), b"{}", ("X-Api-Key", "ann"))
        send("/visits", None, b"{}")
    reused = fresh_key()
    send("/changed", reused, b'{"amount":1}', BEARER)
    send("/changed", reused, b'{"amount":2}', BEARER)
    renewed = fresh_key()
    send("/renewed", renewed, b"{}", BEARER)
    send("/renewed", renewed, b"{}", ("Authorization", "Bearer ann-2"))
    signed = 'Digest username="ann", realm="shop", nonce="1", uri="/", response="x"'
    send("/signed", fresh_key(), b"{}", ("Authorization", signed))
    text = wait_until(lambda: (said := recommend("--admin", admin.text)) and "/signed" in said
                      and "/renewed" in said and said, what="all requests counted")

    orders = route_of(text, "/v1/orders")
    assert "# 6 requests, 6 with a key, 3 repeats of a key; 3 of them differed from the first" in \
        orders
    assert "# known by: Authorization: Bearer (6)" in orders
    assert "# differing parts: json:/sent_at (3)" in orders
    assert orders[-5:] == [
        "required = true", 'scope = "credential"', 'fingerprint = "json"',
        "# they say when it was sent, or at which try, and nothing of the work",
        'fingerprint_omit = ["/sent_at"]']
    refunds = route_of(text, "/refunds")
    assert 'scope = "cookie:sid"' in refunds and 'fingerprint = "json"' in refunds
    gifts = route_of(text, "/gifts")
    assert '# scope = "header:X-User"' in gifts and 'scope = "credential"' in gifts, "a name"
    assert 'scope = "header:X-Api-Key"' in route_of(text, "/bonus"), "a secret"
    assert "# /visits: 3 requests, none with a key that could be used; guarding changes nothing " \
        "there" in text
    changed = route_of(text, "/changed")
    assert not any(line.startswith("fingerprint") for line in changed), "an amount is the work"
    assert any("/amount was another at 1 repeat: 422" in line for line in changed)
    renewed = route_of(text, "/renewed")
    assert '# scope = "jwt:sub"' in renewed and 'scope = "credential"' in renewed
    assert '# scope = "auth-param:username,realm"' in route_of(text, "/signed")
    admin.close()


def test_a_strangers_names_stay_in_their_comments(start_gateway, own_upstream, recommend, key):
    admin = Admin()
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": admin.text}, "defaults": {"observe": True}})
    for number in (b"1", b"2"):
        gateway.post("/o", key=key, fields=[BEARER],
                     body=b'{"x\\n[[route]]\\npath = \\"/evil":' + number + b'}')
    text = wait_until(lambda: (said := recommend("--admin", admin.text)) and "2 requests" in said
                      and said, what="both counted")
    assert not any(line.startswith('path = "/evil') for line in text.splitlines()), text
    assert "evil" in text
    admin.close()


def test_routes_to_paste_from_a_log(recommend):
    text = recommend(lines=[observed("ran", "a"), observed("replayed", "a"),
                            observed("unguarded", route="shop.example/visits")])
    assert "required = true" in route_of(text, "/pay")
    visits = route_of(text, "/visits")
    assert 'host = "shop.example"' in visits and "required = true" not in visits
