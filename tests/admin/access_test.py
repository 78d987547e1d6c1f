"""Who may use the admin listener, and what it refuses."""

import pytest

from support.client import Connection

READS = ["/metrics", "/api/records", "/api/counts", "/api/report", "/api/config",
         "/api/openapi.json"]
ACTS = [f"/api/records/{'0' * 64}/{act}" for act in ("release", "complete", "delete")] + \
    [f"/api/records/{act}" for act in ("release", "complete", "delete")] + \
    ["/api/reload", "/api/drain"]


@pytest.fixture
def guarded(begin_admin, tokens):
    path, operator, viewer = tokens
    gateway, admin = begin_admin(admin_token_file=path)
    return gateway, admin, operator, viewer


@pytest.mark.parametrize("target", READS)
def test_a_read_needs_a_token(guarded, target):
    _, admin, operator, viewer = guarded
    refused = admin.get(target)
    assert refused.status == 401 and refused.get("WWW-Authenticate") == "Bearer"
    assert admin.get(target, token="wrong-token-00000").status == 401
    assert admin.get(target, token=viewer).status == 200
    assert admin.get(target, token=operator).status == 200


@pytest.mark.parametrize("target", ACTS)
def test_an_act_needs_the_token_of_an_operator(guarded, target):
    _, admin, _, viewer = guarded
    assert admin.post(target).status == 401
    assert admin.post(target, token=viewer).status == 403


def test_health_needs_no_token(guarded):
    _, admin, _, _ = guarded
    assert admin.get("/healthz").status == 200
    assert admin.get("/readyz").status in (200, 503)


def test_a_wrong_token_is_refused_also_where_none_is_needed(guarded):
    _, admin, _, _ = guarded
    assert admin.get("/healthz", token="wrong-token-00000").status == 401


def test_unknown_paths_are_shown_to_token_holders_only(guarded):
    _, admin, _, viewer = guarded
    assert admin.get("/api/nothing").status == 401
    assert admin.get("/api/nothing", token=viewer).status == 404
    wrong = admin.ask("DELETE", "/api/records", token=viewer)
    assert wrong.status == 405 and "GET" in wrong.get("Allow")


def test_a_reload_takes_new_tokens_over_and_keeps_the_old_ones_if_they_are_wrong(
        guarded, tokens):
    gateway, admin, operator, viewer = guarded
    with open(tokens[0], "w", encoding="utf-8") as file:
        file.write(f"operator {operator}\nviewer another-viewer-token\n")
    assert admin.post("/api/reload", token=operator).status == 200
    assert admin.get("/metrics", token=viewer).status == 401
    assert admin.get("/metrics", token="another-viewer-token").status == 200
    with open(tokens[0], "w", encoding="utf-8") as file:
        file.write("administrator x\n")
    assert admin.post("/api/reload", token=operator).status == 422
    assert admin.get("/metrics", token="another-viewer-token").status == 200
    assert gateway.logged("admin-tokens-refused")


def test_a_reload_takes_configuration_and_tokens_over_both_or_neither(guarded, tokens):
    gateway, admin, operator, _ = guarded
    right = {**gateway.config, "defaults": {"required": True}}
    gateway.write_config(right)
    with open(tokens[0], "w", encoding="utf-8") as file:
        file.write("administrator x\n")
    refused = admin.post("/api/reload", token=operator)
    assert (refused.status, refused.json()["reloaded"]) == (422, False)
    assert admin.get("/api/config", token=operator).json()["route"][0].get("required") != "true"
    gateway.write_config({**right, "defaults": {"nonsense": True}})
    with open(tokens[0], "w", encoding="utf-8") as file:
        file.write("operator another-operator-token bob\n")
    assert admin.post("/api/reload", token=operator).status == 422
    assert admin.get("/metrics", token="another-operator-token").status == 401
    gateway.write_config(right)
    assert admin.post("/api/reload", token=operator).status == 200
    assert admin.get("/metrics", token=operator).status == 401
    config = admin.get("/api/config", token="another-operator-token").json()
    assert config["route"][0]["required"] == "true"
    assert gateway.logged("reloaded")[0]["by"] == "alice"


def test_idle_connections_without_a_token_take_neither_health_nor_acts_away(guarded):
    _, admin, _, viewer = guarded
    with Connection(admin.address) as holder:
        ask_again = [("Authorization", f"Bearer {viewer}")]
        holder.send_request("GET", "/api/counts", ask_again, host=admin.text)
        assert holder.read().status == 200
        idle = [Connection(admin.address) for _ in range(300)]
        try:
            assert admin.get("/healthz").status == 200
            assert admin.get("/api/counts", token=viewer).status == 200
            holder.send_request("GET", "/api/counts", ask_again, host=admin.text)
            assert holder.read().status == 200
        finally:
            for one in idle:
                one.close()


def test_idle_viewers_take_neither_health_nor_acts_away(guarded):
    _, admin, operator, viewer = guarded
    fields = [("Authorization", f"Bearer {viewer}")]
    idle = []
    try:
        for _ in range(140):
            one = Connection(admin.address)
            idle.append(one)
            one.send_request("GET", "/api/counts", fields, host=admin.text)
            assert one.read().status == 200
        assert admin.get("/healthz").status == 200
        assert admin.get("/api/counts", token=operator).status == 200
        # Of those who are idle, an operator goes last.
        idle[-1].send_request("GET", "/healthz", fields, host=admin.text)
        assert idle[-1].read().status == 200
    finally:
        for one in idle:
            one.close()


@pytest.mark.parametrize("content, mode, words", [
    ("operator operator-token-0001\n", 0o644, "others than its owner"),
    ("admin operator-token-0001\n", 0o600, "line 1: expected"),
    ("operator short\n", 0o600, "at least 16"),
    ("# nobody\n", 0o600, "no token"),
])
def test_a_wrong_token_file_ends_the_start(begin_admin, tmp_path, content, mode, words):
    path = tmp_path / "wrong"
    path.write_text(content)
    path.chmod(mode)
    gateway, _ = begin_admin(admin_token_file=str(path), wait=False)
    assert gateway.wait() == 3
    gateway.says(words)


def test_an_address_beyond_this_machine_needs_tokens(begin_admin):
    gateway, _ = begin_admin(admin="0.0.0.0:0", wait=False)
    assert gateway.wait() == 3
    gateway.says("needs admin_token_file")


def test_a_browser_can_be_made_to_do_nothing(begin_admin):
    """Without tokens: neither by a form of another page, nor by a name that it points here."""
    _, admin = begin_admin()
    with Connection(admin.address) as client:
        client.send_request("POST", "/api/drain", [("Content-Type", "text/plain")], b"{}",
                            host=admin.text)
        assert client.read().status == 415
    with Connection(admin.address) as client:
        client.send_request("GET", "/api/records", host="evil.example")
        assert client.read().status == 403


def test_a_host_and_a_content_type_are_compared_without_case(begin_admin):
    _, admin = begin_admin()
    for kind in ("Application/JSON", "application/json ; charset=utf-8"):
        with Connection(admin.address) as client:
            client.send_request("POST", "/api/reload", [("Content-Type", kind)], b"{}",
                                host=f"LocalHost:{admin.port.number}")
            assert client.read().status == 200
    with Connection(admin.address) as client:
        client.send_request("POST", "/api/reload", [("Content-Type", "application/jsonp")], b"{}",
                            host=admin.text)
        assert client.read().status == 415


@pytest.mark.parametrize("raw, status", [
    (b"GET / HTTP/1.1\r\n\r\n", b"400"),
    (b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n", b"400"),
    (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20000 + b"\r\n\r\n", b"431"),
    (b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Content-Length: 2000000\r\n\r\n", b"413"),
])
def test_messages_are_read_strictly(begin_admin, raw, status):
    _, admin = begin_admin()
    with Connection(admin.address) as client:
        client.send(raw)
        assert str(client.read().status).encode() == status


def test_requests_follow_each_other_on_one_connection(begin_admin):
    _, admin = begin_admin()
    with Connection(admin.address) as client:
        for _ in range(3):
            client.send_request("GET", "/healthz", host=admin.text)
            assert client.read().status == 200
        client.send_request("HEAD", "/healthz", host=admin.text)
        answer = client.read()
        assert (answer.status, answer.body) == (200, b"")
