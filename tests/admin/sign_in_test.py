"""Signing in to the page: a cookie that stands for a token, and what it does not open."""

import gzip

import pytest

JSON = ("Content-Type", "application/json")


@pytest.fixture
def guarded(begin_admin, tokens):
    path, operator, viewer = tokens
    gateway, admin = begin_admin(admin_token_file=path)
    return gateway, admin, operator, viewer


def sign_in(admin, token, fields=()):
    return admin.post("/api/sign-in", {"token": token}, fields=fields)


def cookie_of(answer):
    assert answer.status == 204, answer.body
    assert answer.get("Content-Length") is None  # RFC 9110, 8.6
    text = answer.get("Set-Cookie")
    assert "; HttpOnly; SameSite=Strict" in text and "; Path=/" in text
    return ("Cookie", text.split(";")[0])


def test_a_cookie_has_the_rights_of_its_token(guarded):
    _, admin, operator, viewer = guarded
    for token, role, status in ((viewer, "viewer", 403), (operator, "operator", 200)):
        cookie = cookie_of(sign_in(admin, token))
        assert token not in cookie[1]
        known = admin.get("/api/sign-in", fields=[cookie])
        assert known.json()["role"] == role and known.json()["signed_in"] is True
        assert admin.get("/api/records", fields=[cookie]).status == 200
        assert admin.post("/api/reload", fields=[cookie]).status == status
    assert admin.get("/api/sign-in").status == 401
    assert admin.get("/api/records", fields=[("Cookie", cookie[1][:-1])]).status == 401


def test_the_page_itself_needs_no_token(guarded):
    _, admin, _, _ = guarded
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"),
                       ("/page.css", "text/css")):
        answer = admin.get(path)
        assert answer.status == 200 and answer.get("Content-Type").startswith(kind)
        policy = answer.get("Content-Security-Policy")
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("accepted, packed", [
    ("gzip", True), ("br, GZIP;q=0.5, *", True), ("gzip; q=1.0", True), (None, False),
    ("br", False), ("gzip;q=0", False), ("deflate, gzip; Q=0.000", False), ("xgzip", False)])
def test_the_page_is_compressed_for_who_takes_it_so(guarded, accepted, packed):
    _, admin, _, _ = guarded
    fields = [("Accept-Encoding", accepted)] if accepted else []
    for path in ("/", "/page.js", "/page.css"):
        plain, answer = admin.get(path), admin.get(path, fields=fields)
        assert plain.get("Content-Encoding") is None
        assert answer.get("Vary") == "Accept-Encoding"
        assert answer.get("Content-Encoding") == ("gzip" if packed else None)
        assert (gzip.decompress(answer.body) if packed else answer.body) == plain.body


@pytest.mark.parametrize("fields", [
    [("Sec-Fetch-Site", "cross-site")],
    [("Sec-Fetch-Site", "same-site")],
    [("Origin", "http://evil.example")],
    [("Origin", "null")],
])
def test_a_page_of_another_site_can_do_nothing_with_the_cookie(guarded, fields):
    _, admin, operator, _ = guarded
    cookie = cookie_of(sign_in(admin, operator))
    assert admin.post("/api/reload", fields=[cookie, *fields]).status == 403
    assert sign_in(admin, operator, fields).status == 403
    assert admin.ask("DELETE", "/api/sign-in", fields=[cookie, *fields]).status == 403
    assert admin.get("/api/sign-in", fields=[cookie]).status == 200


def test_a_form_can_not_send_what_an_act_needs(guarded):
    _, admin, operator, _ = guarded
    cookie = cookie_of(sign_in(admin, operator))
    form = [cookie, ("Content-Type", "text/plain")]
    assert admin.ask("POST", "/api/reload", b"{}", fields=form[:1] + form[1:]).status in (400, 403)


def test_the_own_page_may(guarded):
    _, admin, operator, _ = guarded
    own = [("Origin", f"http://{admin.text}"), ("Sec-Fetch-Site", "same-origin")]
    cookie = cookie_of(sign_in(admin, operator, own))
    assert admin.post("/api/reload", fields=[cookie, *own]).status == 200


@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC", "Digest", "Negotiate"])
def test_the_password_of_a_proxy_shuts_nobody_out(guarded, scheme):
    """A browser repeats it to the proxy with each request, and the proxy leaves it in."""
    _, admin, operator, _ = guarded
    password = ("Authorization", f"{scheme} YWxpY2U6c2VjcmV0")
    for path in ("/healthz", "/"):
        assert admin.get(path, fields=[password]).status == 200
    assert admin.get("/readyz", fields=[password]).status in (200, 503)
    cookie = cookie_of(sign_in(admin, operator, [password]))
    assert admin.get("/api/records", fields=[password, cookie]).status == 200
    assert admin.post("/api/reload", fields=[password, cookie]).status == 200
    assert admin.get("/api/records", fields=[password]).status == 401
    assert admin.post("/api/reload", fields=[password]).status == 401
    # Neither does it open to another site's page what the cookie alone does not.
    elsewhere = [password, cookie, ("Sec-Fetch-Site", "cross-site")]
    assert admin.post("/api/reload", fields=elsewhere).status == 403
    assert sign_in(admin, operator, elsewhere[::2]).status == 403


def test_a_wrong_token_is_refused_beside_a_cookie(guarded):
    _, admin, operator, _ = guarded
    cookie = cookie_of(sign_in(admin, operator))
    for path in ("/api/records", "/healthz"):
        assert admin.get(path, token="wrong-token-00000", fields=[cookie]).status == 401


def test_signing_out_ends_the_cookie(guarded):
    _, admin, operator, _ = guarded
    cookie = cookie_of(sign_in(admin, operator))
    other = cookie_of(sign_in(admin, operator))
    ended = admin.ask("DELETE", "/api/sign-in", fields=[cookie, JSON])
    assert ended.status == 204 and "Max-Age=0" in ended.get("Set-Cookie")
    assert admin.get("/api/records", fields=[cookie]).status == 401
    assert admin.get("/api/records", fields=[other]).status == 200


def test_a_token_that_a_reload_takes_away_takes_its_cookies_along(guarded, tokens):
    _, admin, operator, viewer = guarded
    mine, gone = cookie_of(sign_in(admin, operator)), cookie_of(sign_in(admin, viewer))
    with open(tokens[0], "w", encoding="utf-8") as file:
        file.write(f"operator {operator} alice\n")
    assert admin.post("/api/reload", token=operator).status == 200
    assert admin.get("/api/records", fields=[mine]).status == 200
    assert admin.get("/api/records", fields=[gone]).status == 401


def test_many_sign_ins_of_one_token_end_nobody_elses(guarded):
    _, admin, operator, viewer = guarded
    mine, other = cookie_of(sign_in(admin, operator)), cookie_of(sign_in(admin, viewer))
    for _ in range(300):
        last = cookie_of(sign_in(admin, viewer))
    assert admin.get("/api/records", fields=[mine]).status == 200
    assert admin.get("/api/records", fields=[last]).status == 200
    assert admin.get("/api/records", fields=[other]).status == 401


@pytest.mark.parametrize("body, status", [
    ({"token": "wrong-token-00000"}, 401), ({"token": 17}, 400), ({}, 400), ([], 400),
    (b"{", 400), ({"token": "x\r\ny"}, 401), (b"[" * 100_000, 400)])
def test_a_wrong_sign_in(guarded, body, status):
    _, admin, _, _ = guarded
    answer = admin.post("/api/sign-in", body)
    assert answer.status == status and answer.get("Set-Cookie") is None


def test_without_tokens_nobody_signs_in(begin_admin):
    _, admin = begin_admin()
    known = admin.get("/api/sign-in").json()
    assert known == {"role": "operator", "name": "operator", "signed_in": False,
                     "serves": "gateway"}
    assert sign_in(admin, "a-token-of-nobody").status == 409
