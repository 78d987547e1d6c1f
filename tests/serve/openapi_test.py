"""The document of the decision service against the service: every call, verdict and outcome that it
describes is seen, and as it says."""

import json
import pathlib

import pytest

from support.decisions import FRAMED, DecisionService, framed, fresh
from support.schema import closed, faults, resolve
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "src/serve/openapi.json").read_text())
STRICT = closed(DOCUMENT)
VERDICTS = set(DOCUMENT["components"]["schemas"]["Verdict"]["discriminator"]["mapping"])
OUTCOMES = set(DOCUMENT["components"]["schemas"]["Outcome"]["discriminator"]["mapping"])
SETTLES = [path.rsplit("/", 1)[1] for path in DOCUMENT["paths"] if "{operation}" in path]

CONFIG = {
    "defaults": {"backoff": "1m", "max_request_body": "64KiB"},
    "store": {"url": "memory:"},
    "route": [{"path": "/", "required": True, "scope": "header:X-Tenant"},
              {"path": "/seen", "observe": True}],
    "policy": [{"name": "often", "lease": "2s", "unknown": "rerun"}],
}


@pytest.fixture
def start(onceguard, tmp_path):
    made = []

    def begin(config=None, **how):
        made.append(DecisionService(onceguard, tmp_path, config or CONFIG, **how))
        return made[-1].start()

    yield begin
    for one in made:
        one.close()


class Documented:
    """A client of which every answer is held against the document."""

    def __init__(self, client):
        self.client = client
        self.verdicts, self.outcomes, self.calls = set(), set(), set()

    def ask(self, method, path, body=None, known=None, fields=()):
        known = known or path
        answer = self.client.ask(method, path, body, fields)
        responses = DOCUMENT["paths"][known][method.lower()]["responses"]
        assert str(answer.status) in responses, f"{method} {path}: {answer.status} {answer.body}"
        content = resolve(responses[str(answer.status)], DOCUMENT)["content"]
        kind = answer.get("Content-Type")
        assert kind in content, f"{method} {path} answered {kind}"
        text = answer.body.split(b"\n", 1)[0] if kind == FRAMED else answer.body
        value = json.loads(text)
        schema = content["application/json" if kind == FRAMED else kind]["schema"]
        assert faults(value, schema, STRICT) == [], value
        self.calls.add((known, method.lower()))
        self.verdicts |= {value.get("verdict")} - {None}
        self.outcomes |= {value.get("outcome")} - {None}
        return answer

    def claim(self, **members):
        if "key" in members:
            members = {"scope": "tests", "fingerprint": "the same", **members}
        return self.ask("POST", "/v1/operations", members).json()

    def request(self, key, body="1", path="/", **more):
        fields = [["X-Tenant", "a"]] + ([["Idempotency-Key", key]] if key else [])
        return self.claim(request={"method": "POST", "target": path, "headers": fields,
                                   "body": body}, **more)

    def settle(self, operation, kind, **members):
        path = f"/v1/operations/{operation}/{kind}"
        return self.ask("POST", path, members, f"/v1/operations/{{operation}}/{kind}").json()

    def complete(self, operation, body="done"):
        return self.settle(operation, "complete", answer={
            "status": 201, "headers": [["Content-Type", "text/plain"]], "body": body})


def see_claims(seen):
    for ask in (lambda key, **more: seen.claim(key=key, **more), seen.request):
        key = fresh()
        running = ask(key)
        assert running["verdict"] == "run"
        assert ask(key)["verdict"] == "busy"
        other = {"fingerprint": "another"} if ask != seen.request else {"body": "2"}
        assert ask(key, **other)["verdict"] == "mismatch"
        assert seen.complete(running["operation"])["outcome"] == "settled"
        assert ask(key)["verdict"] == "replay"
        failing = fresh()
        failed = seen.settle(ask(failing)["operation"], "fail", backoff_ms=60_000)
        assert failed["outcome"] == "settled"
        assert ask(failing)["verdict"] == "backoff"
        lost = fresh()
        seen.settle(ask(lost)["operation"], "abandon")
        assert ask(lost)["verdict"] == "unknown"
    assert seen.request(None)["verdict"] == "refused"
    assert seen.claim(request={"method": "GET", "target": "/", "headers": []})["verdict"] == "pass"
    observed = seen.request(fresh(), path="/seen")
    assert observed["verdict"] == "observe"
    assert seen.complete(observed["operation"])["outcome"] == "settled"


def see_settles(seen):
    for kind in ("release", "exception"):
        assert seen.settle(seen.claim(key=fresh())["operation"], kind)["outcome"] == "settled"
    failed = seen.claim(key=fresh())["operation"]
    assert seen.settle(failed, "fail")["outcome"] == "settled"
    assert seen.complete(failed)["outcome"] == "backoff"
    late = seen.claim(key=fresh(), dispatch=False, renew="client")["operation"]
    assert seen.settle(late, "dispatch")["outcome"] == "dispatched"
    assert seen.settle(late, "renew")["outcome"] == "renewed"
    assert seen.complete(late)["outcome"] == "settled"


def see_another_attempt(seen):
    """The lease of the first one runs out, and the policy lets the next one run."""
    key = fresh()
    first = seen.claim(key=key, renew="client", policy="often")
    assert first["verdict"] == "run"

    def next_one():
        got = seen.claim(key=key, renew="client", policy="often")
        return got if got["verdict"] == "run" else None

    second = wait_until(next_one, what="the end of the lease")
    assert second["attempt"] == 2
    assert seen.complete(first["operation"])["outcome"] == "superseded"
    assert seen.complete(second["operation"])["outcome"] == "settled"
    assert seen.complete(first["operation"])["outcome"] == "replay"


def test_every_call_answers_as_the_document_says(start):
    service = start()
    with service.client() as client:
        seen = Documented(client)
        see_claims(seen)
        see_settles(seen)
        see_another_attempt(seen)
        batch = seen.ask("POST", "/v1/batch", {"calls": [
            {"call": "claim", "scope": "a", "key": fresh(), "fingerprint": "x"},
            {"call": "claim", "scope": "a"}]}).json()
        assert [one["status"] for one in batch["results"]] == [200, 400]
        assert seen.ask("GET", "/v1/openapi.json").json() == DOCUMENT
        for path in ("/healthz", "/readyz"):
            assert seen.ask("GET", path).status == 200
    # What only an outage shows: tests of the store's failures see these.
    assert VERDICTS - seen.verdicts == {"unguarded", "store_failed", "overloaded"}
    assert OUTCOMES - seen.outcomes == {"unrecorded"}
    calls = {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert seen.calls == calls


def test_the_framed_form_has_the_members_of_the_document(start):
    service = start()
    with service.client() as client:
        seen = Documented(client)
        fields = [("Content-Type", FRAMED), ("Accept", FRAMED)]
        key = fresh()
        claim = framed({"request": {"method": "POST", "target": "/", "headers": [
            ["X-Tenant", "a"], ["Idempotency-Key", key]]}}, b"\xff\n\x00")
        answer = seen.ask("POST", "/v1/operations", claim, fields=fields)
        running = json.loads(answer.body.split(b"\n", 1)[0])
        path = f"/v1/operations/{running['operation']}/complete"
        kept = framed({"answer": {"status": 200, "headers": []}}, b"\n\xfe")
        seen.ask("POST", path, kept, "/v1/operations/{operation}/complete", fields)
        replay = seen.ask("POST", "/v1/operations", claim, fields=fields)
        assert json.loads(replay.body.split(b"\n", 1)[0])["verdict"] == "replay"
        assert replay.body.split(b"\n", 1)[1] == b"\n\xfe"


def test_every_refusal_is_as_the_document_says(start):
    service = start()
    refusals = [
        ("/v1/operations", "/v1/operations", {"scope": 1}, 400),
        ("/v1/operations", "/v1/operations", {"scope": "a", "key": "k", "policy": "none"}, 400),
        ("/v1/operations/xyz/release", "/v1/operations/{operation}/release", {}, 404),
        ("/v1/batch", "/v1/batch", {"calls": 7}, 400),
    ]
    with service.client() as client:
        seen = Documented(client)
        for path, known, body, status in refusals:
            assert seen.ask("POST", path, body, known).status == status
        asked = {"scope": "a", "key": fresh(), "claim": "ab" * 16}
        assert seen.ask("POST", "/v1/operations", asked).status == 200
        asked["key"] = fresh()
        assert seen.ask("POST", "/v1/operations", asked).status == 422
    with service.client() as client:
        large = Documented(client).ask("POST", "/v1/operations", b"x" * (8 << 20), fields=[
            ("Content-Type", "application/json")])
        assert large.status == 413


@pytest.mark.parametrize("kind", SETTLES)
def test_an_operation_that_is_none_is_refused_as_the_document_says(start, kind):
    service = start()
    with service.client() as client:
        seen = Documented(client)
        path = f"/v1/operations/{'0' * 40}/{kind}"
        body = {"answer": {"status": 200}} if kind == "complete" else {}
        assert seen.ask("POST", path, body, f"/v1/operations/{{operation}}/{kind}").status == 404


def test_a_caller_without_a_token_is_refused_as_the_document_says(start, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("client 0123456789abcdef shop\n")
    tokens.chmod(0o600)
    service = start({**CONFIG, "serve": {"token_file": str(tokens)}})
    with service.client() as client:
        seen = Documented(client)
        for path, methods in DOCUMENT["paths"].items():
            for method, what in methods.items():
                target = path.replace("{operation}", "0" * 40)
                status = 200 if what.get("security") == [] else 401
                body = {} if method == "post" else None
                assert seen.ask(method.upper(), target, body, path).status == status, path
