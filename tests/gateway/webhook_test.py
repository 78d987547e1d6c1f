"""Webhooks: a delivery that its sender signed runs once for each id, and nothing else passes."""

import base64
import hashlib
import hmac
import json
import time
import uuid

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import Gateway
from support.waiting import wait_until

OWN = {"name": "own", "id": ["json:/delivery"], "signature": "header:X-Own", "signature_prefix":
       "mac=", "algorithm": "hmac-sha1", "signature_encoding": "base64", "signed": "own/{body}"}
SECRET, NEXT_SECRET = "whsec_" + base64.b64encode(b"first secret").decode(), "another secret"


def made(secret, text, algorithm="sha256"):
    return hmac.new(secret, text, algorithm)


def signed_by(sender, secret, name, body, now):
    """Body and fields of a delivery, as the sender's published rule has it."""
    now = str(now).encode()
    raw = secret.encode()
    if sender == "stripe":
        body = json.dumps({"id": name, **body}).encode()
        mark = made(raw, now + b"." + body).hexdigest()
        return body, [("Stripe-Signature", f"t={now.decode()},v1={mark},v0=00")]
    if sender == "slack":
        body = json.dumps({"event_id": name, **body}).encode()
        mark = made(raw, b"v0:" + now + b":" + body).hexdigest()
        return body, [("X-Slack-Request-Timestamp", now.decode()),
                      ("X-Slack-Signature", f"v0={mark}")]
    if sender == "own":
        body = json.dumps({"delivery": name, **body}).encode()
        mark = base64.b64encode(made(raw, b"own/" + body, "sha1").digest()).decode()
        return body, [("X-Own", f"mac={mark}")]
    body = json.dumps(body).encode()
    if sender == "github":
        return body, [("X-GitHub-Delivery", name),
                      ("X-Hub-Signature-256", "sha256=" + made(raw, body).hexdigest())]
    if sender == "shopify":
        mark = base64.b64encode(made(raw, body).digest()).decode()
        return body, [("X-Shopify-Webhook-Id", name), ("X-Shopify-Hmac-Sha256", mark)]
    assert sender == "standard-webhooks"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mark = base64.b64encode(made(key, b".".join((name.encode(), now, body))).digest()).decode()
    return body, [("webhook-id", name), ("webhook-timestamp", now.decode()),
                  ("webhook-signature", f"v1,AAAA v1,{mark}")]


SENDERS = ["stripe", "github", "shopify", "standard-webhooks", "slack", "own"]
WITH_TIME = ["stripe", "standard-webhooks", "slack"]
SIGNS_NO_ID = ["github", "shopify"]


def routes(secret_file):
    return [{"path": f"/{sender}", "webhook": sender, "webhook_secret_file": str(secret_file)}
            for sender in SENDERS]


@pytest.fixture(scope="module")
def secret_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("webhook") / "secrets"
    file.write_text(SECRET + "\n")
    return file


@pytest.fixture(scope="module")
def gateway(onceguard, upstream, tmp_path_factory, secret_file):
    config = {"webhook": [OWN], "route": routes(secret_file)}
    running = Gateway(onceguard, tmp_path_factory.mktemp("gateway"), upstream.url, config)
    yield running.start()
    running.close()


class Deliveries:
    """Sends deliveries of one sender, all with one id."""

    def __init__(self, gateway, upstream, sender):
        self.gateway, self.upstream, self.sender = gateway, upstream, sender
        self.name = f"evt_{uuid.uuid4()}"

    def send(self, body=None, secret=SECRET, age=0, alter=None, more=()):
        data, fields = signed_by(self.sender, secret, self.name, body or {"amount": 1},
                                 int(time.time()) - age)
        if alter:
            data, fields = alter(data, fields)
        return self.gateway.post(f"/{self.sender}", body=data, fields=list(more) + fields)

    def runs(self):
        return self.upstream.runs(f'"{self.name}"')

    def nothing_came(self):
        assert self.runs() == 0
        assert self.gateway.record(self.name) is None


@pytest.fixture(params=SENDERS)
def deliveries(gateway, upstream, request):
    return Deliveries(gateway, upstream, request.param)


def test_a_delivery_runs_once_and_its_repeat_gets_the_answer(deliveries):
    first = assert_first(deliveries.send(age=2))
    assert_replay_of(deliveries.send(), first)  # signed again, with another time
    assert deliveries.runs() == 1


def test_a_key_of_the_client_does_not_count(deliveries):
    first = assert_first(deliveries.send(more=[("Idempotency-Key", "one")]))
    assert_replay_of(deliveries.send(more=[("Idempotency-Key", "two")]), first)
    assert deliveries.runs() == 1


def test_what_the_sender_did_not_sign_is_refused(deliveries):
    def tamper(data, fields):
        return data.replace(b"1", b"2"), fields

    def unsigned(data, fields):
        return data, [f for f in fields if "ignature" not in f[0] and f[0] != "X-Own"
                      and "Hmac" not in f[0]]

    for answer in (deliveries.send(alter=tamper), deliveries.send(alter=unsigned),
                   deliveries.send(secret="whsec_" + base64.b64encode(b"wrong").decode())):
        assert_problem(answer, 403, "signature-invalid", False)
    deliveries.nothing_came()


@pytest.mark.parametrize("sender", WITH_TIME)
@pytest.mark.parametrize("age", [3600, -3600])
def test_a_delivery_from_another_time_is_refused(gateway, upstream, sender, age):
    late = Deliveries(gateway, upstream, sender)
    assert_problem(late.send(age=age), 403, "delivery-expired", False)
    late.nothing_came()


@pytest.mark.parametrize("sender", SIGNS_NO_ID)
def test_another_body_with_the_id_is_another_request(gateway, upstream, sender):
    deliveries = Deliveries(gateway, upstream, sender)
    assert_first(deliveries.send())
    assert_problem(deliveries.send(body={"amount": 3}), 422, "key-reused", False)


@pytest.mark.parametrize("sender", ["stripe", "slack", "own"])
def test_where_the_id_is_signed_the_body_may_change(gateway, upstream, sender):
    deliveries = Deliveries(gateway, upstream, sender)
    first = assert_first(deliveries.send())
    assert_replay_of(deliveries.send(body={"amount": 3}), first)


def test_a_signed_id_can_not_be_another_one(gateway, upstream):
    deliveries = Deliveries(gateway, upstream, "standard-webhooks")

    def rename(data, fields):
        return data, [("webhook-id", "another")] + fields[1:]

    assert_problem(deliveries.send(alter=rename), 403, "signature-invalid", False)
    deliveries.nothing_came()


def test_a_delivery_without_an_id_is_refused(gateway):
    body = b"{}"
    fields = [("X-Hub-Signature-256", "sha256=" + made(SECRET.encode(), body).hexdigest())]
    assert_problem(gateway.post("/github", body=body, fields=fields), 400, "key-missing", False)


def test_no_other_method_or_spelling_leads_around_the_signature(gateway):
    for method in ("GET", "PUT", "DELETE"):
        answer = gateway.ask(method, "/stripe", [], b"" if method == "PUT" else None)
        assert_problem(answer, 403, "signature-invalid", False)
    assert gateway.ask("PUT", "/%2fstripe", [], b"").problem == "bad-request"
    assert gateway.ask("PUT", "/stripe/a%2fb", [], b"").problem == "bad-request"


def test_an_id_of_another_sender_is_another_key(gateway, upstream):
    name = f"evt_{uuid.uuid4()}"
    for sender in SENDERS:
        deliveries = Deliveries(gateway, upstream, sender)
        deliveries.name = name
        assert_first(deliveries.send())
    assert upstream.runs(f'"{name}"') == len(SENDERS)


def test_secrets_are_replaced_without_a_gap(start_gateway, upstream, tmp_path):
    file = tmp_path / "secrets"
    file.write_text(SECRET)
    route = {"path": "/github", "webhook": "github", "webhook_secret_file": str(file)}
    config = {"route": [route]}
    gateway = start_gateway(upstream, config)

    def taken(secret):
        return Deliveries(gateway, upstream, "github").send(secret=secret).status

    def reload(text):
        before = gateway.log().count('"reloaded"')
        file.write_text(text)
        gateway.reload(config)
        wait_until(lambda: gateway.log().count('"reloaded"') > before, what="the reload")

    assert [taken(SECRET), taken(NEXT_SECRET)] == [201, 403]
    reload(f"{NEXT_SECRET}\n{SECRET}\n")
    assert [taken(SECRET), taken(NEXT_SECRET)] == [201, 201]
    reload(NEXT_SECRET)
    assert [taken(SECRET), taken(NEXT_SECRET)] == [403, 201]
    assert SECRET not in gateway.log() and NEXT_SECRET not in gateway.log()


@pytest.mark.parametrize("lines, fault", [
    ('webhook = "stipe"\nwebhook_secret_file = "FILE"',
     ':5:11: [[route]] webhook: there is no sender "stipe"; did you mean "stripe"?'),
    ('webhook = "stripe"', ":5:11: [[route]] webhook: needs webhook_secret_file"),
    ('webhook = "stripe"\nwebhook_secret_file = "/nowhere/secret"',
     ":6:23: [[route]] webhook_secret_file: /nowhere/secret: can't be read: No such file"),
    ('webhook = "stripe"\nwebhook_secret_file = "FILE"\nscope = "none"',
     ":7:9: [[route]] scope: not with webhook"),
    ('webhook = "stripe"\nwebhook_secret_file = "FILE"\nobserve = true',
     ":7:11: [[route]] observe: not with webhook"),
    ('webhook_secret_file = "FILE"', ":5:23: [[route]] webhook_secret_file: only with webhook"),
    ('[[webhook]]\nname = "x"', ":5:1: [[webhook]] id: missing"),
])
def test_check_says_what_is_wrong(start_gateway, upstream, tmp_path, secret_file, lines, fault):
    gateway = start_gateway(upstream, started=False)
    file = tmp_path / "config.toml"
    file.write_text(f'[[upstream]]\nname = "a"\nurl = "http://127.0.0.1:1"\n[[route]]\n'
                    + lines.replace("FILE", str(secret_file)) + "\n")
    ended = gateway.command("check", "--config", str(file))
    assert ended.returncode == 3, ended
    assert fault in ended.stdout + ended.stderr, ended


@pytest.mark.parametrize("defaults", [
    {"profile": "stripe"}, {"profile": "ietf"}, {"keep": "all"},
    {"outcome": {"500": "complete", "404": "complete"}}], ids=str)
def test_the_contract_of_an_api_does_not_lose_deliveries(start_gateway, own_upstream, secret_file,
                                                         defaults):
    """A sender tries again after an error: that must not be replayed to it."""
    gateway = start_gateway(own_upstream, {"defaults": defaults, "webhook": [OWN],
                                           "route": routes(secret_file)})
    one = Deliveries(gateway, own_upstream, "stripe")
    own_upstream.plan("/stripe", {"status": 404}, {"status": 503}, {"status": 201})
    assert [one.send().status for _ in range(3)] == [404, 503, 201]
    assert one.runs() == 3
    broken = Deliveries(gateway, own_upstream, "stripe")
    own_upstream.plan("/stripe", {"status": 500})
    assert [broken.send().status for _ in range(2)] == [500, 409], "unknown, not done"


def test_living_deliveries_are_under_the_scope_that_their_route_has(start_gateway, upstream,
                                                                    secret_file, fresh_key):
    """And only another sender, or none, makes them strangers: previous_scope can't mend that."""
    config = {"route": [{"path": "/stripe", "webhook": "stripe",
                         "webhook_secret_file": str(secret_file)}, {"path": "/told"}]}
    gateway = start_gateway(upstream, config)
    assert_first(Deliveries(gateway, upstream, "stripe").send())
    assert_first(gateway.post("/told", key=fresh_key()))
    gateway.stop()
    config["route"][1]["scope"] = "none"  # its line says that the records were looked through
    gateway.write_config(config)
    gateway.start()
    assert [one["route"] for one in gateway.logged("scope-changed")] == ["/told"]
    del config["route"][0]["webhook"], config["route"][0]["webhook_secret_file"]
    gateway.reload(config)
    found, = wait_until(lambda: [one for one in gateway.logged("scope-changed", 3)
                                 if one["route"] == "/stripe"], what="the route being told of")
    assert found["under"] == "webhook:stripe" and "previous_scope" not in found["hint"], found
