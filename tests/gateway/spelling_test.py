"""Fields that an application could take for ours, and what a client's Connection can't remove."""

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of

CONFIG = {"route": [
    {"path": "/shop", "scope": "header:X-Shop"},
    {"path": "/moved", "scope": "header:X-Shop", "previous_scope": ["header:X-Old-Shop"]},
]}
KINDS = pytest.mark.parametrize("guarded", [False, True], ids=["unguarded", "guarded"])
FORGED = ["Onceguard_Token", "onceguard_scope", "Onceguard-Token", "X_Forwarded_For",
          "X_Forwarded-Proto", "x_forwarded_host", "Content_Length", "Transfer_Encoding",
          "Content_Type", "Keep_Alive", "Proxy_Authorization", "X_Shop"]


def sent(upstream, path):
    found = upstream.requests(path=path)
    assert len(found) == 1
    return found[0]["fields"]


def as_variable(name):
    """As CGI, WSGI and Rack have it."""
    return name.upper().replace("-", "_")


def values(fields, name):
    return [v for n, v in fields if as_variable(n) == as_variable(name)]


@KINDS
@pytest.mark.parametrize("name", FORGED)
def test_the_other_spelling_of_ours_is_dropped(gateway, upstream, key, name, guarded):
    path = f"/shop/{key}"
    # Guarded, the scope's own field can't stand beside another spelling of it.
    if guarded and name == "X_Shop":
        answer = gateway.post(path, key=key, fields=[("X-Shop", "mine"), (name, "forged")])
        assert_problem(answer, 400, "scope-missing", False)
        assert upstream.requests(path=path) == []
        return
    fields = [("X-Shop", "mine"), (name, "forged"), ("X_Custom", "kept")]
    assert_first(gateway.post(path, key=key if guarded else None, fields=fields))
    arrived = sent(upstream, path)
    assert "forged" not in str(arrived)
    assert values(arrived, "X-Custom") == ["kept"]
    assert values(arrived, "X-Shop") == ["mine"]
    assert values(arrived, "Content-Type") == ["application/json"]
    assert values(arrived, "X-Forwarded-For") == ["127.0.0.1"]


@pytest.mark.parametrize("fields", [
    [("Idempotency_Key", "other")],
    [("Idempotency-Key", "other"), ("Idempotency_Key", "other")],
], ids=["alone", "beside the key"])
def test_a_key_with_an_underscore_is_refused_where_keys_count(gateway, upstream, key, fields):
    path = f"/{key}"
    assert_problem(gateway.post(path, fields=fields), 400, "key-malformed", False)
    assert upstream.requests(path=path) == []
    assert gateway.get(path, fields=fields).status == 201
    assert values(sent(upstream, path), "Idempotency-Key") == ["other"][:len(fields) - 1]


@pytest.mark.parametrize("name", ["X-Shop", "x-shop", "X-Old-Shop", "Content-Type", "X-Tenant",
                                  "Idempotency-Key", "X-Api-Key", "Authorization", "Cookie",
                                  "X-Forwarded-For"])
def test_connection_removes_nothing_that_a_key_stands_on(gateway, upstream, key, name):
    path = f"/moved/{key}"
    fields = [("Connection", f"keep-alive, {name}, X-Hop"), ("X-Hop", "1"), ("X-Shop", "mine"),
              ("X-Old-Shop", "old"), ("X-Tenant", "t"), ("X-Api-Key", "a"),
              ("Authorization", "Bearer x"), ("Cookie", "a=1")]
    assert_first(gateway.post(path, key=key, fields=fields))
    arrived = sent(upstream, path)
    assert len(values(arrived, name)) == 1
    assert values(arrived, "X-Hop") == []


@KINDS
def test_connection_may_list_more_than_eight_names(gateway, upstream, key, guarded):
    path = f"/shop/{key}"
    hops = [f"X-Hop-{i}" for i in range(20)]
    fields = [("Connection", ", ".join(hops[:10])), ("Connection", ", ".join(hops[10:]))]
    fields += [(name, "1") for name in hops] + [("X-Shop", "mine"), ("Accept", "a"), ("X-B", "b")]
    assert_first(gateway.post(path, key=key if guarded else None, fields=fields))
    arrived = sent(upstream, path)
    assert not [n for n, _ in arrived if n.startswith("X-Hop")]
    for name, value in (("X-Shop", "mine"), ("Accept", "a"), ("X-B", "b")):
        assert values(arrived, name) == [value]


def test_a_connection_of_more_names_than_fields_is_refused(gateway, upstream, key):
    path = f"/{key}"
    fields = [("Connection", ",".join(["x"] * 101))]
    assert_problem(gateway.get(path, fields=fields), 400, "bad-request", False)
    assert_problem(gateway.post(path, key=key, fields=fields), 400, "bad-request", False)
    assert upstream.requests(path=path) == []


MARKS = [["Idempotent-Replayed", "true"], ["idempotent_replayed", "true"], ["X-A", "1"]]


def marks(answer):
    return [v for n, v in answer.fields if as_variable(n) == "IDEMPOTENT_REPLAYED"]


@pytest.mark.parametrize("plan", [{}, {"framing": "chunked"}, {"size": 2_000_000}],
                         ids=["whole", "chunked", "too large"])
def test_the_mark_of_a_replay_is_ours_alone(gateway, key, plan):
    plan = {**plan, "headers": MARKS}
    assert marks(gateway.post(plan=plan)) == []
    first = gateway.post(key=key, plan=plan)
    assert marks(first) == [] and first.get("X-A") == "1"
    if "size" not in plan:
        assert marks(assert_replay_of(gateway.post(key=key), first)) == ["true"]


def test_the_mark_is_not_in_interim_answers_either(gateway):
    answer = gateway.get(plan={"interim": [[103, MARKS]], "status": 200})
    assert [n for n, _ in answer.interim[0].fields] == ["X-A"]


def test_an_operators_answer_can_not_bring_the_mark(gateway, key):
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    done = gateway.command("keys", "complete", key, "--status", "201", "--body", "x",
                           "--header", "Idempotent-Replayed: false")
    assert done.returncode == 0, done
    assert marks(gateway.post(key=key, plan={"status": 500})) == ["true"]
