"""Who may call the decision service: tokens of a file, the mode of the socket, the host."""

import os
import stat

import pytest

from support.decisions import DecisionService, fresh

TOKEN, OTHER = "first-token-of-the-shop", "other-token-of-the-shop"


@pytest.fixture
def tokens(tmp_path):
    def write(*lines):
        path = tmp_path / "tokens"
        path.write_text("# clients\n\n" + "".join(line + "\n" for line in lines))
        path.chmod(0o600)
        return str(path)
    return write


@pytest.fixture
def start(onceguard, tmp_path):
    made = []

    def begin(started=True, tcp=False, **serve):
        made.append(DecisionService(onceguard, tmp_path, {
            "store": {"url": "memory:"}, "serve": serve}, tcp=tcp))
        return made[-1].start() if started else made[-1]

    yield begin
    for one in made:
        one.close()


def claim(service, token=None, **how):
    with service.client(token=token, **how) as client:
        return client.claim(key=fresh())


@pytest.mark.parametrize("tcp", [False, True])
def test_a_token_of_the_file_is_needed(start, tokens, tcp):
    service = start(tcp=tcp, token_file=tokens(f"client {TOKEN} shop", f"client {OTHER}"))
    for token in (TOKEN, OTHER):
        assert claim(service, token).json()["verdict"] == "run"
    for token in (None, TOKEN[:-1], TOKEN + "x", "shop"):
        refused = claim(service, token)
        assert refused.status == 401
        assert refused.json()["type"].endswith("unauthorized")
        assert refused.get("WWW-Authenticate") == "Bearer"


def test_a_settle_needs_a_token_too_and_health_none(start, tokens):
    service = start(token_file=tokens(f"client {TOKEN}"))
    with service.client(token=TOKEN) as client:
        running = client.run(key=fresh())
        with service.client() as stranger:
            assert stranger.complete(running["operation"]).status == 401
            assert stranger.ask("GET", "/healthz").status == 200
            assert stranger.ask("GET", "/readyz").status == 200
        assert client.complete(running["operation"]).json()["outcome"] == "settled"


def test_a_reload_takes_tokens_and_keeps_them_when_the_file_is_wrong(start, tokens):
    service = start(token_file=tokens(f"client {TOKEN}"))
    tokens(f"client {OTHER}")
    assert claim(service, OTHER).status == 401
    assert service.reload() == "reloaded"
    assert claim(service, TOKEN).status == 401
    assert claim(service, OTHER).status == 200
    tokens("client short")
    assert service.reload() == "reload-refused"
    assert claim(service, OTHER).status == 200


@pytest.mark.parametrize("line, mode, fault", [
    ("operator 0123456789abcdef", 0o600, 'line 3: expected "client TOKEN"'),
    ("client short", 0o600, "line 3: a token has at least 16 characters"),
    ("client 0123456789abcdef two names", 0o600, "expected one word behind the token"),
    ("", 0o600, "holds no token"),
    ("client 0123456789abcdef", 0o604, "others than its owner and group may read"),
])
def test_a_wrong_file_of_tokens_ends_the_start(start, tokens, line, mode, fault):
    path = tokens(line)
    os.chmod(path, mode)
    service = start(started=False, token_file=path)
    with pytest.raises(AssertionError, match=r"\[serve\] token_file"):
        service.start()
    assert service.process.wait(60) == 3
    assert fault in service.log().replace('\\"', '"')


def test_a_web_page_can_not_call_where_no_token_is_needed(start):
    service = start(tcp=True)
    assert claim(service, host="evil.test").status == 401
    assert claim(service, host="127.0.0.1:80").status == 200
    with service.client() as client:
        form = client.ask("POST", "/v1/operations", b'{"scope":"a","key":"b"}',
                          [("Content-Type", "text/plain")])
        assert form.status == 400


@pytest.mark.parametrize("mode", ["0600", "0660"])
def test_the_socket_has_its_mode(start, mode):
    service = start(mode=mode)
    assert stat.S_IMODE(os.stat(service.address).st_mode) == int(mode, 8)


@pytest.mark.parametrize("more, fault", [
    ({}, "needs tls_certificate"),
    ({"token_file": "tokens"}, "needs tls_certificate"),
])
def test_an_address_that_others_reach_needs_more(onceguard, tmp_path, more, fault):
    service = DecisionService(onceguard, tmp_path, {
        "serve": {"listen": "0.0.0.0:0", **more}, "store": {"url": "memory:"}})
    with pytest.raises(AssertionError, match="can be reached from other machines"):
        service.start()
    assert service.process.wait(60) == 3
    assert fault in service.log()
    service.close()
