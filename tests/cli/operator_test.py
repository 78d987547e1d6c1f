"""What an operator does with records, beside a running gateway."""

import json
import time

import pytest

from support.waiting import wait_until


def lines(done):
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def show(gateway, key, *more):
    return lines(gateway.command("keys", "show", key, "--json", *more))[0]


@pytest.fixture
def unknown_key(gateway, key):
    """A key whose outcome is unknown: the upstream answered 500."""
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    return key


def test_show_prints_everything(gateway, key):
    first = gateway.post(key=key, plan={"status": 201, "headers": [["X-Twice", "a"],
                                                                   ["X-Twice", "b"]]})
    record = show(gateway, key)
    assert record["state"] == "completed"
    assert record["status"] == 201
    assert record["method"] == "POST"
    assert record["path"] == "/charges"
    assert record["attempt"] == 1
    assert record["scope_kind"] == "anonymous"
    assert len(record["scope"]) == len(record["record"]) == len(record["fingerprint"]) == 64
    twice = [value for name, value in record["headers"] if name.lower() == "x-twice"]
    assert twice == ["a", "b"]
    assert record["body"].encode() == first.body
    body = gateway.command("keys", "show", key, "--body")
    assert body.stdout.encode() == first.body
    page = gateway.command("keys", "show", key).stdout
    assert "state         completed" in page
    assert first.body.decode() in page


def test_list_filters_and_pages(gateway, fresh_key):
    keys = [fresh_key() for _ in range(3)]
    for key in keys:
        gateway.post(key=key)
    listed = [record["key"] for record in gateway.keys()]
    assert [key for key in listed if key in keys] == keys
    assert [r["key"] for r in gateway.keys("--key", keys[1])] == [keys[1]]
    assert len(gateway.keys("--limit", "2")) == 2
    assert all(r["state"] == "unknown" for r in gateway.keys("--state", "unknown"))
    scope = gateway.record(keys[0])["scope"]
    assert keys[0] in [r["key"] for r in gateway.keys("--scope", scope[:8])]
    assert keys[0] in [r["key"] for r in gateway.keys("--scope", scope)]
    assert gateway.keys("--scope", "0" * 64) == []


def test_list_filters_by_route_method_reason_text_and_age(gateway, fresh_key):
    done, failed = fresh_key() + "-done", fresh_key() + "-failed"
    gateway.post(key=done)
    gateway.post(key=failed, plan={"status": 500})
    record = gateway.record(failed)

    def keys(*flags):
        return {r["key"] for r in gateway.keys(*flags)} & {done, failed}

    assert keys("--route", record["route"], "--method", "POST") == {done, failed}
    assert keys("--method", "PATCH") == keys("--route", "/no-such-route") == set()
    assert keys("--text", failed[3:]) == {failed}
    assert keys("--reason", "upstream_status") == keys("--attention") == {failed}
    assert keys("--reason", "upstream_timeout") == set()
    assert keys("--state", "unknown", "--state", "completed") == {done, failed}
    assert keys("--younger", "1h") == {done, failed}
    assert keys("--older", "1h") == keys("--younger", "1ms") == set()
    assert 0 <= record["age_ms"] < 3_600_000


@pytest.mark.parametrize("flag, value", [("--older", "soon"), ("--reason", "bad luck"),
                                         ("--state", "lost")])
def test_a_list_by_what_is_none_is_refused(gateway, flag, value):
    done = gateway.command("keys", "list", flag, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert value in done.stderr


def test_an_unknown_key_is_completed_with_an_answer(gateway, unknown_key):
    assert gateway.state(unknown_key) == "unknown"
    done = gateway.command("keys", "complete", unknown_key, "--status", "201", "--header",
                           "Content-Type: application/json", "--body", '{"id":17}')
    assert done.returncode == 0, done
    assert done.stdout == "completed\n"
    again = gateway.post(key=unknown_key, plan={"status": 500})
    assert (again.status, again.body) == (201, b'{"id":17}')
    record = show(gateway, unknown_key)
    assert record["by_operator"] is True
    assert record["headers"] == [["Content-Type", "application/json"]]


def test_a_completion_is_kept_for_the_retention_of_its_route(start_gateway, upstream, key):
    route = {"host": "shop.test", "path": "/brief", "retention": "1h"}
    gateway = start_gateway(upstream, {"route": [route, {"path": "/brief", "retention": "2h"}]})
    answer = gateway.post("/brief", key=key, plan={"status": 500}, host="shop.test")
    assert answer.status == 500
    done = gateway.command("keys", "complete", key, "--config", str(gateway.config_path))
    assert done.returncode == 0, done
    assert 0 < show(gateway, key)["retention_left_ms"] <= 3_600_000


@pytest.mark.parametrize("status", ["204", "205", "304"])
def test_a_body_that_would_never_be_sent_is_refused(gateway, unknown_key, status):
    done = gateway.command("keys", "complete", unknown_key, "--status", status, "--body", "paid")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"the status {status} has none" in done.stderr
    assert gateway.state(unknown_key) == "unknown"
    assert gateway.command("keys", "complete", unknown_key, "--status", status).returncode == 0
    assert gateway.post(key=unknown_key).status == int(status)


def test_an_unknown_key_is_completed_without_an_answer(gateway, unknown_key):
    assert gateway.command("keys", "complete", unknown_key).returncode == 0
    assert show(gateway, unknown_key)["kept"] == "none"
    again = gateway.post(key=unknown_key, plan={"status": 500})
    assert again.status == 409
    assert again.problem == "answer-not-kept"


@pytest.mark.parametrize("name", ["Content-Length", "date", "Connection", "Transfer-Encoding"])
def test_what_is_made_for_each_answer_can_not_be_given(gateway, unknown_key, name):
    done = gateway.command("keys", "complete", unknown_key, "--header", f"{name}: 5")
    assert done.returncode == 2, done
    assert name in done.stderr
    assert gateway.state(unknown_key) == "unknown"


def test_a_body_comes_from_a_file(gateway, unknown_key, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(b"\x00\xff\n")
    done = gateway.command("keys", "complete", unknown_key, "--body-file", str(body))
    assert done.returncode == 0, done
    record = show(gateway, unknown_key)
    assert record["status"] == 200
    assert record["body_base64"] == "AP8K"


def test_an_unknown_key_is_released_and_runs_again(gateway, unknown_key):
    done = gateway.command("keys", "release", unknown_key)
    assert done.returncode == 0, done
    assert "released" in done.stdout
    assert gateway.state(unknown_key) in (None, "released")
    again = gateway.post(key=unknown_key, plan={"status": 500})
    assert again.status == 500
    assert gateway.record(unknown_key)["attempt"] == 2


def test_a_released_record_is_none_to_complete_or_release(gateway, unknown_key):
    scope = gateway.record(unknown_key)["scope"]
    assert gateway.command("keys", "release", unknown_key).returncode == 0
    for command in ("complete", "release"):
        for named in ([unknown_key], [unknown_key, "--scope", scope]):
            done = gateway.command("keys", command, *named)
            assert done.returncode == 5, done
            assert "there is no record of the key" in done.stderr


def test_what_runs_is_ended_by_force_only(gateway, upstream, key):
    connection = gateway.begin_post(key=key, plan={"gate": key})
    upstream.arrived(key=key)
    for command in ("release", "complete"):
        done = gateway.command("keys", command, key)
        assert done.returncode == 1
        assert "it may still be running" in done.stderr
    assert gateway.state(key) == "in_progress"
    done = gateway.command("keys", "release", key, "--force")
    assert done.returncode == 0, done
    assert gateway.state(key) in (None, "released")
    connection.close()


def test_the_release_of_an_answer_returns_when_no_cache_has_it(gateway, key):
    first = gateway.post(key=key)
    began = time.monotonic()
    done = gateway.command("keys", "release", key)
    assert done.returncode == 0, done
    assert time.monotonic() - began >= 5
    second = gateway.post(key=key)
    assert not second.replayed
    assert second.status == first.status
    assert gateway.record(key)["attempt"] == 2


def test_a_completed_key_is_not_completed_again(gateway, key):
    gateway.post(key=key)
    done = gateway.command("keys", "complete", key, "--status", "204")
    assert done.returncode == 1
    assert "completed already" in done.stderr
    assert "release" not in done.stderr


def test_what_is_not_there_is_not_found(gateway, key):
    for command in ("show", "release", "complete"):
        done = gateway.command("keys", command, key)
        assert done.returncode == 5
        assert "there is no record of the key" in done.stderr


def test_a_key_of_several_scopes_has_to_be_chosen(gateway, key):
    for user in ("Bearer a", "Bearer b"):
        gateway.post(key=key, fields=[("Authorization", user)])
    done = gateway.command("keys", "show", key)
    assert done.returncode == 2
    scopes = [line.split()[0] for line in done.stderr.splitlines()[1:]]
    assert len(scopes) == len(set(scopes)) == 2
    for scope in scopes:
        assert show(gateway, key, "--scope", scope)["scope"] == scope
        assert show(gateway, key, "--scope", scope[:10])["scope"] == scope


def test_stats_count_what_there_is(gateway, key):
    gateway.post(key=key)
    counts = lines(gateway.command("stats", "--json"))[0]
    assert counts["completed"] >= 1
    assert counts["total"] == sum(n for name, n in counts.items() if name != "total")
    text = gateway.command("stats").stdout
    assert f"completed {counts['completed']:>14}" in text


def test_sweep_removes_what_has_outlived_its_retention(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {"defaults": {"retention": "1s"},
                                           "store": {"sweep": "1h"}})
    assert gateway.post(key=key).status == 201

    def removed():
        done = gateway.command("sweep")
        assert done.returncode == 0, done
        return int(done.stdout.split()[0])
    assert wait_until(removed, 30, "the end of its retention") == 1
    assert gateway.command("keys", "show", key).returncode == 5


def test_explain_prints_what_a_request_would_get(gateway, key):
    def explain(*more):
        return gateway.command("explain", "POST", "http://shop.test/charges?a=1", "-H",
                               f"Idempotency-Key: {key}", "-H", "Authorization: Bearer x",
                               "--upstream", gateway.upstream_url, *more)
    reported = lines(explain("--json", "--body", "{}"))[0]
    assert reported["guarded"] is True
    assert reported["key"] == key
    assert reported["scope_kind"] == "credential"
    assert reported["current"] is None
    assert reported["fingerprint_method"].endswith(" exact")
    assert "no such record: it would run" in explain().stdout
    # The digests are those that the gateway makes.
    config = ["--config", str(gateway.config_path)]
    gateway.post("/charges?a=1", key=key, body=b"{}", content_type=None,
                 fields=[("Authorization", "Bearer x")])
    same = lines(explain("--json", "--body", "{}", *config))[0]
    assert same["current"]["state"] == "completed"
    assert same["same_request"] is True
    assert same["record"] == same["current"]["record"]
    other = lines(explain("--json", "--body", "[]", *config))[0]
    assert other["same_request"] is False
    assert "422 key-reused" in explain("--body", "[]", *config).stdout


def test_explain_prints_why_a_request_is_not_guarded_or_refused(gateway):
    config = ["--config", str(gateway.config_path)]
    plain = lines(gateway.command("explain", "GET", "/charges", "--json", *config))[0]
    assert plain["guarded"] is False
    assert plain["reason"]
    wrong = lines(gateway.command("explain", "POST", "/charges", "-H", 'Idempotency-Key: "a',
                                  "--json", *config))[0]
    assert wrong["status"] == 400
    assert wrong["problem"] == "key-malformed"
    required = lines(gateway.command("explain", "POST", "/charges", "--required", "--upstream",
                                     "http://a", "--json"))[0]
    assert required["problem"] == "key-missing"


def test_explain_refuses_what_leads_around_a_rule(gateway, tmp_path):
    file = tmp_path / "onceguard.toml"
    file.write_text(f'[[upstream]]\nname = "a"\nurl = "{gateway.upstream_url}"\n'
                    '[[route]]\npath = "/pay"\nrequired = true\n[[route]]\npath = "/"\n')

    def explain(url):
        return lines(gateway.command("explain", "POST", url, "--config", str(file), "--json"))[0]
    for url in ("//pay", "/pay%2f", "/x/..;/pay", "/pay;v=1"):
        assert explain(url)["problem"] == "bad-request", url
    assert explain("/pay")["problem"] == "key-missing"
    assert explain("//other")["guarded"] is False


def test_explain_searches_former_scopes(gateway, key):
    fields = [("Authorization", "Bearer x"), ("X-Tenant", "t")]
    gateway.post(key=key, body=b"{}", content_type=None, fields=fields)

    def explain(*more):
        given = [part for name, value in fields for part in ("-H", f"{name}: {value}")]
        return gateway.command("explain", "POST", "http://shop.test/charges", *given, "-H",
                               f"Idempotency-Key: {key}", "--body", "{}", "--config",
                               str(gateway.config_path), "--scope", "header:X-Tenant", *more)
    alone = lines(explain("--json"))[0]
    assert alone["current"] is None
    reported = lines(explain("--json", "--previous-scope", "cookie:a,credential"))[0]
    assert reported["current"]["state"] == "completed"
    assert reported["same_request"] is True
    assert "former scope: credential" in explain("--previous-scope", "credential").stdout
