"""What the clients of a known contract rely on, row by row. Each row has the page that says so."""

import json

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

IETF = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07"
STRIPE = "https://docs.stripe.com/api/idempotent_requests"
STRIPE_ERRORS = "https://docs.stripe.com/error-low-level"
PAYPAL = "https://developer.paypal.com/api/rest/reference/idempotency/"
PAYPAL_ERRORS = "https://developer.paypal.com/api/rest/responses/"
ADYEN = "https://docs.adyen.com/development-resources/api-idempotency/"

CONFIG = {"route": [{"path": f"/{name}", "profile": name}
                    for name in ("ietf", "stripe", "paypal", "adyen")]}
HEADERS = {"ietf": "Idempotency-Key", "stripe": "Idempotency-Key", "paypal": "PayPal-Request-Id",
           "adyen": "idempotency-key"}


class Client:
    """Posts to the route of a profile as its clients do."""

    def __init__(self, gateway, profile, key):
        self.gateway, self.profile, self.key = gateway, profile, key

    def post(self, body=b'{"amount":1}', key=None, plan=None, content_type="application/json"):
        fields = [("Authorization", "Bearer ann"), ("Content-Type", content_type)]
        text = self.key if key is None else key
        if text:
            fields.append((HEADERS[self.profile], f'"{text}"' if self.profile == "ietf" else text))
        if plan:
            fields.append(("X-Trace-Plan", json.dumps(plan)))
        return self.gateway.ask("POST", f"/{self.profile}/payments", fields, body)

    def kept(self, status):
        """Whether an answer of this status is the answer to the repeat, too."""
        first = self.post(plan={"status": status})
        assert first.status == status
        again = self.post()
        if again.replayed:
            assert_replay_of(again, first)
        return again.replayed

    def while_it_runs(self, upstream):
        """What a repeat gets meanwhile."""
        value = f'"{self.key}"' if self.profile == "ietf" else self.key
        fields = [("Authorization", "Bearer ann"), (HEADERS[self.profile], value)]
        with self.gateway.begin_post(f"/{self.profile}/payments", body=b'{"amount":1}',
                                     fields=fields, plan={"gate": self.key}) as running:
            wait_until(lambda: self.gateway.state(self.key) == "in_progress", what="the first one")
            answer = self.post()
            upstream.open(self.key)
            assert_first(running.read())
        wait_until(lambda: self.gateway.state(self.key) == "completed", what="its end")
        return answer


def mismatch(client, _):
    assert_first(client.post())
    return client.post(body=b'{"amount":2}')


# profile, what is said, its source, what is done, what must come of it
ROWS = [
    ("ietf", "a request without the key gets 400", IETF,
     lambda c, u: c.post(key=""), lambda a: assert_problem(a, 400, "key-missing", False)),
    ("ietf", "the key is a String of RFC 8941", IETF,
     lambda c, u: c.gateway.ask("POST", "/ietf/x", [("Idempotency-Key", c.key)], b""),
     lambda a: assert_problem(a, 400, "key-malformed", False)),
    ("ietf", "another payload gets 422", IETF,
     mismatch, lambda a: assert_problem(a, 422, "key-reused", False)),
    ("ietf", "a repeat while the first runs gets 409", IETF,
     lambda c, u: c.while_it_runs(u),
     lambda a: assert_problem(a, 409, "in-progress", True, retry_after=True)),
    ("ietf", "an error is the result, too", IETF,
     lambda c, u: c.kept(500), lambda kept: kept),
    ("stripe", "a request may come without a key", STRIPE,
     lambda c, u: c.post(key=""), lambda a: a.status == 201),
    ("stripe", "the result of a failure is saved, 500 included", STRIPE,
     lambda c, u: c.kept(500), lambda kept: kept),
    ("stripe", "a declined card is a result", STRIPE,
     lambda c, u: c.kept(402), lambda kept: kept),
    ("stripe", "a request that failed validation is not saved", STRIPE,
     lambda c, u: c.kept(400), lambda kept: not kept),
    ("stripe", "a request beyond the rate is not saved", STRIPE_ERRORS,
     lambda c, u: c.kept(429), lambda kept: not kept),
    ("stripe", "other parameters get 400 and an idempotency_error", STRIPE_ERRORS, mismatch,
     lambda a: a.status == 400 and a.json()["error"]["type"] == "idempotency_error"
     and a.get("Stripe-Should-Retry") == "false"),
    ("stripe", "a conflict gets 409, and may be sent again", STRIPE_ERRORS,
     lambda c, u: c.while_it_runs(u),
     lambda a: a.status == 409 and a.json()["error"]["code"] == "idempotency_key_in_use"
     and a.get("Stripe-Should-Retry") == "true"),
    ("stripe", "a key has up to 255 characters", STRIPE,
     lambda c, u: c.post(key="k" * 256),
     lambda a: a.status == 400 and a.json()["error"]["type"] == "invalid_request_error"),
    ("stripe", "keys are kept for 24 hours at least", STRIPE,
     lambda c, u: (c.post(), c.gateway.record(c.key)["retention_left_ms"])[1],
     lambda left: left > 23.9 * 3_600_000),
    ("paypal", "the key is PayPal-Request-Id", PAYPAL,
     lambda c, u: (c.post(), c.post())[1], lambda a: a.replayed),
    ("paypal", "without the header a repeat is another request", PAYPAL,
     lambda c, u: (c.post(key=""), c.post(key=""))[1],
     lambda a: a.status == 201 and not a.replayed),
    ("paypal", "of two at once the second may fail", PAYPAL,
     lambda c, u: c.while_it_runs(u),
     lambda a: a.status == 409 and a.json()["name"] == "RESOURCE_CONFLICT"),
    ("paypal", "errors have name, message, debug_id and details", PAYPAL_ERRORS, mismatch,
     lambda a: a.status == 422 and a.json()["name"] == "UNPROCESSABLE_ENTITY"
     and set(a.json()) == {"name", "message", "debug_id", "details"}
     and a.json()["details"][0]["issue"] == "DUPLICATE_REQUEST_ID"),
    ("adyen", "the name of the header is not case-sensitive", ADYEN,
     lambda c, u: (c.post(), c.post())[1], lambda a: a.replayed),
    ("adyen", "the header comes back", ADYEN,
     lambda c, u: (c, c.post(), c.post()),
     lambda got: all(a.get("Idempotency-Key") == got[0].key for a in got[1:])),
    ("adyen", "keys are valid for 31 days at least", ADYEN,
     lambda c, u: (c.post(), c.gateway.record(c.key)["retention_left_ms"])[1],
     lambda left: left > 30.9 * 24 * 3_600_000),
    ("adyen", "a request in progress gets 422 and the code 704, and may be sent again", ADYEN,
     lambda c, u: c.while_it_runs(u),
     lambda a: a.status == 422 and a.json()["errorCode"] == "704"
     and a.get("Transient-Error") == "true"),
    ("adyen", "an error that is not transient has no such header", ADYEN, mismatch,
     lambda a: a.status == 422 and a.get("Transient-Error") is None),
]


@pytest.mark.parametrize("profile, source, act, holds",
                         [(row[0], row[2], row[3], row[4]) for row in ROWS],
                         ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_a_row(gateway, upstream, key, profile, source, act, holds):
    assert source.startswith("https://")
    found = act(Client(gateway, profile, key), upstream)
    assert holds(found), found
    if hasattr(found, "get") and found.status >= 400:
        assert found.get("Onceguard-Retry") in ("same-key", "new-key", "no")


def test_what_is_set_by_itself_stays(start_gateway, own_upstream, key):
    gateway = start_gateway(own_upstream, {
        "defaults": {"retention": "48h"},
        "route": [{"path": "/", "profile": "stripe", "mismatch_status": "422"}]})
    assert_first(gateway.post(key=key, body=b"a=1"))
    assert gateway.record(key)["retention_left_ms"] > 47 * 3_600_000
    answer = gateway.post(key=key, body=b"a=2")
    assert answer.status == 422
    assert answer.json()["error"]["type"] == "idempotency_error"


def test_a_template_is_filled_and_escaped(start_gateway, own_upstream, key, tmp_path):
    template = tmp_path / "error.json"
    template.write_text('{"kind": "{type}", "code": {status}, "say": "{detail}", '
                        '"again": {retryable}, "how": "{retry}", "t": "{title}", "x": "{other}"}')
    gateway = start_gateway(own_upstream, {
        "gateway": {"problem_base": "https://docs.example/"},
        "defaults": {"errors": "template", "error_template_file": str(template),
                     "key": ["X-a"]}})
    answer = gateway.ask("POST", "/", [("X-a", '"\\')], b"")
    said = answer.json()
    assert (answer.status, said["code"]) == (400, 400)
    assert said["kind"] == "https://docs.example/key-malformed"
    assert (said["again"], said["how"], said["x"]) == (False, "no", "{other}")
    assert answer.get("Content-Type") == "application/json"
    # SIGHUP reads it again; one that is no JSON changes nothing.
    template.write_text('{"new": "{type}"}')
    gateway.reload(gateway.config)
    gateway.logged("reloaded")
    assert list(gateway.ask("POST", "/", [("X-a", "")], b"").json()) == ["new"]
    template.write_text('{"new": {type}}')
    gateway.reload(gateway.config)
    gateway.logged("reload-refused")
    assert list(gateway.ask("POST", "/", [("X-a", "")], b"").json()) == ["new"]


# ---- web pages

SHOP = "https://shop.example"


@pytest.fixture
def for_pages(start_gateway, own_upstream):
    return start_gateway(own_upstream, {"route": [
        {"path": "/listed", "cors": [SHOP, "http://localhost:3000"], "required": True},
        {"path": "/all", "cors": ["*"], "required": True}, {"path": "/none", "required": True}]})


def cors_fields(answer):
    return {name.lower(): value for name, value in answer.fields
            if name.lower().startswith("access-control-") or name.lower() == "vary"}


def test_a_listed_page_may_read_a_refusal(for_pages):
    for origin in (SHOP, "http://localhost:3000"):
        refused = for_pages.post("/listed", fields=[("Origin", origin)], key=None)
        assert refused.problem == "key-missing"
        assert cors_fields(refused) == {
            "vary": "Origin", "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
            "access-control-expose-headers": "Retry-After, Onceguard-Retry, Stripe-Should-Retry"}


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"{SHOP}.evil", f"{SHOP}:444",
                                    "http://shop.example", ""])
def test_another_page_may_not(for_pages, origin):
    refused = for_pages.post("/listed", fields=[("Origin", origin)], key=None)
    assert "access-control-allow-origin" not in cors_fields(refused)
    assert cors_fields(for_pages.post("/none", fields=[("Origin", origin)], key=None)) == {}


def test_every_page_may_without_credentials(for_pages):
    fields = cors_fields(for_pages.post("/all", fields=[("Origin", "null")], key=None))
    assert fields["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in fields and "vary" not in fields


def test_the_service_s_own_fields_are_left_alone(for_pages, own_upstream, key):
    own = [["Access-Control-Allow-Origin", "https://own.example"], ["Vary", "Accept, Origin"]]
    plan = {"status": 201, "headers": own}
    for _ in range(2):
        answer = for_pages.post("/listed", key=key, plan=plan, fields=[("Origin", SHOP)])
        assert cors_fields(answer) == {name.lower(): value for name, value in own}
    asked = for_pages.ask("OPTIONS", "/listed", [("Origin", SHOP),
                                                ("Access-Control-Request-Method", "POST")])
    assert asked.status == 200 or asked.status == 201
    assert own_upstream.requests(method="OPTIONS")
