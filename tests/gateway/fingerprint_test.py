"""What makes two requests the same."""

import json
import subprocess

import pytest

from support.client import fields_for
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.waiting import wait_until

CONFIG = {
    "route": [
        {"path": "/json", "fingerprint": "json"},
        {"path": "/omit", "fingerprint": "json", "fingerprint_omit": ["/nonce", "/meta/at"]},
        {"path": "/pick", "fingerprint": "json", "fingerprint_pick": ["/amount", "/to/iban"]},
        {"path": "/none", "fingerprint": "none"},
        {"path": "/form", "fingerprint": "form"},
        {"path": "/fails", "outcome": {"500": "fail"}, "backoff": "60s"},
    ]
}
AUTH = [("Authorization", "Bearer ann")]


def assert_reused(answer, first=None):
    assert_problem(answer, 422, "key-reused", False)
    if first is not None:
        assert first.body not in answer.body


def test_exact_covers_body_and_content_type(gateway, upstream, key):
    first = assert_first(gateway.post(key=key, body=b"a=1"))
    assert_reused(gateway.post(key=key, body=b"a=2"), first)
    assert_reused(gateway.post(key=key, body=b"a=1 "), first)
    assert_reused(gateway.post(key=key, body=b""), first)
    assert_reused(gateway.post(key=key, body=b"a=1", content_type="text/plain"), first)
    assert_reused(gateway.post(key=key, body=b"a=1", content_type=None), first)
    assert_replay_of(gateway.post(key=key, body=b"a=1"), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("route", ["/charges", "/json", "/none"])
@pytest.mark.parametrize("other", ["/x?q=1", "/x?q=2&r", "/y?q=2", "/x", "/x?q=%32"])
def test_path_and_query_are_always_covered(gateway, upstream, key, route, other):
    first = assert_first(gateway.post(f"{route}/x?q=2", key=key))
    assert_reused(gateway.post(route + other, key=key), first)
    assert_replay_of(gateway.post(f"{route}/x?q=2", key=key), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("route", ["/charges", "/json", "/none"])
def test_the_method_is_always_covered(gateway, key, route):
    first = assert_first(gateway.post(route, key=key))
    assert_reused(gateway.post(route, key=key, method="PATCH"), first)


def test_the_upstream_is_always_covered(start_gateway, upstream, own_upstream, key):
    gateway = start_gateway(upstream, {
        "upstream": [{"name": "one", "url": upstream.url}, {"name": "two",
                                                           "url": own_upstream.url}],
        "route": [{"host": "two.test", "path": "/", "upstream": "two"},
                  {"path": "/", "upstream": "one"}]})
    first = assert_first(gateway.post(key=key, fields=AUTH, host="one.test"))
    assert_reused(gateway.post(key=key, fields=AUTH, host="two.test"), first)
    assert_replay_of(gateway.post(key=key, fields=AUTH, host="ONE.test:8080"), first)
    assert own_upstream.runs(key) == 0


def test_other_fields_are_not_covered(gateway, key):
    first = assert_first(gateway.post(key=key, fields=[("X-Request-Id", "1")]))
    assert_replay_of(gateway.post(key=key, fields=[("X-Request-Id", "2")]), first)


def test_a_chunked_body_is_the_same_body(gateway, key):
    body = b'{"amount":' + b"1" * 10_000 + b"}"
    first = assert_first(gateway.post(key=key, body=body))
    assert_replay_of(gateway.post(key=key, body=body, chunked=True), first)


SAME = {
    "spacing": ('{"a":1,"b":[1,2]}', ' { "b" : [1, 2],\n"a" : 1 } '),
    "order": ('{"a":{"x":1,"y":2},"b":null}', '{"b":null,"a":{"y":2,"x":1}}'),
    "numbers": ('{"a":100,"b":1.5}', '{"a":1e2,"b":1.50}'),
    "escapes": ('{"a":"A\\u00e9\\n"}', '{"a":"\\u0041\\u00E9\\u000a"}'),
    "minus zero": ('{"a":0}', '{"a":-0}'),
    "top-level array": ("[1, 2,{}]", "[1.0,2 , {}]"),
}
OTHER = {
    "value": ('{"a":1}', '{"a":2}'),
    "number and text": ('{"a":1}', '{"a":"1"}'),
    "order in an array": ("[1,2]", "[2,1]"),
    "missing and null": ('{"a":null}', "{}"),
    "case of a name": ('{"a":1}', '{"A":1}'),
    "duplicate names": ('{"a":1,"a":1}', '{"a":1, "a":1}'),
    "beyond 2^53": ('{"a":9007199254740993}', '{"a":9007199254740992}'),
    "spacing beyond 2^53": ('{"a":9007199254740993}', '{"a": 9007199254740993}'),
    "18 digits": ('{"a":0.123456789012345678}', '{"a": 0.123456789012345678}'),
    "no JSON": ("{a:1}", "{a: 1}"),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_json_sees_the_same_document(gateway, upstream, key, pair):
    first = assert_first(gateway.post("/json", key=key, body=pair[0].encode()))
    assert_replay_of(gateway.post("/json", key=key, body=pair[1].encode()), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("pair", OTHER.values(), ids=OTHER.keys())
def test_json_sees_another_document(gateway, key, pair):
    first = assert_first(gateway.post("/json", key=key, body=pair[0].encode()))
    assert_reused(gateway.post("/json", key=key, body=pair[1].encode()), first)
    assert_replay_of(gateway.post("/json", key=key, body=pair[0].encode()), first)


def test_the_canonical_form_is_no_body_that_is_exact(gateway, fresh_key):
    """What is taken as exact must not meet what is canonical with the same bytes."""
    key = fresh_key()
    first = assert_first(gateway.post("/json", key=key, body=b'{"a":1}'))
    assert_reused(gateway.post("/json", key=key, body=b'{"a":1,"a":1}'), first)


def test_pointers_can_be_left_out(gateway, key):
    def body(nonce, time, amount):
        return json.dumps({"nonce": nonce, "meta": {"at": time, "by": "x"},
                           "amount": amount}).encode()
    first = assert_first(gateway.post("/omit", key=key, body=body(1, 1, 5)))
    assert_replay_of(gateway.post("/omit", key=key, body=body(2, 9, 5)), first)
    assert_reused(gateway.post("/omit", key=key, body=body(1, 1, 6)), first)


def test_pointers_can_be_picked(gateway, key):
    def body(amount, iban, note):
        return json.dumps({"amount": amount, "to": {"iban": iban, "name": note}}).encode()
    first = assert_first(gateway.post("/pick", key=key, body=body(5, "DE1", "a")))
    assert_replay_of(gateway.post("/pick", key=key, body=body(5, "DE1", "b")), first)
    assert_reused(gateway.post("/pick", key=key, body=body(5, "DE2", "a")), first)
    assert_reused(gateway.post("/pick", key=key, body=b'{"amount":5}'), first)


def test_none_leaves_out_the_body(gateway, key):
    first = assert_first(gateway.post("/none", key=key, body=b"a"))
    assert_replay_of(gateway.post("/none", key=key, body=b"b", content_type="text/plain"), first)


def test_a_mismatch_is_answered_while_the_first_runs(gateway, upstream, key):
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        assert_reused(gateway.post(key=key, body=b"other"))
        upstream.open(key)
        assert_first(running.read())
    assert upstream.runs(key) == 1


def test_a_mismatch_is_answered_while_failed(gateway, upstream, key):
    assert gateway.post("/fails", key=key, plan={"status": 500}).status == 500
    assert_reused(gateway.post("/fails", key=key, body=b"other"))
    assert_problem(gateway.post("/fails", key=key), 409, "backing-off", True, True)
    assert upstream.runs(key) == 1


def test_a_mismatch_is_answered_while_unknown(gateway, upstream, key):
    assert gateway.post(key=key, plan={"status": 500}).status == 500
    assert_reused(gateway.post(key=key, body=b"other"))
    assert_problem(gateway.post(key=key), 409, "outcome-unknown", False)
    assert upstream.runs(key) == 1


def test_after_a_release_another_request_may_have_the_key(gateway, upstream, key):
    assert gateway.post(key=key, body=b"wrong", plan={"status": 400}).status == 400
    first = assert_first(gateway.post(key=key, body=b"right"))
    assert_reused(gateway.post(key=key, body=b"wrong"), first)
    assert upstream.runs(key) == 2


def reload_to(gateway, fingerprint, target, key_of_probe):
    """Reloads and waits until requests are fingerprinted anew."""
    gateway.reload({"defaults": {"fingerprint": fingerprint}})
    attempts = iter(range(10_000))

    def reloaded():
        key = f"{key_of_probe}-{next(attempts)}"
        gateway.post(target, key=key, body=b'{"a":1}')
        same = gateway.post(target, key=key, body=b'{ "a":1}').replayed
        return same == (fingerprint == "json")
    wait_until(reloaded, what="the reload")


@pytest.mark.parametrize("before, after", [("exact", "json"), ("json", "exact")])
def test_a_repeat_is_compared_as_its_record_says(start_gateway, upstream, key, before, after):
    gateway = start_gateway(upstream, {"defaults": {"fingerprint": before}})
    first = assert_first(gateway.post(key=key, body=b'{"a":1,"b":2}'))
    reload_to(gateway, after, "/charges", key + "-x")
    assert_replay_of(gateway.post(key=key, body=b'{"a":1,"b":2}'), first)
    respaced = gateway.post(key=key, body=b'{"b":2, "a":1}')
    if before == "json":
        assert_replay_of(respaced, first)
    else:
        assert_reused(respaced, first)
    assert_reused(gateway.post(key=key, body=b'{"a":1,"b":3}'), first)


def test_an_empty_body_and_none_at_all_are_the_same(gateway, key):
    first = assert_first(gateway.post(key=key, body=b"", content_type=None))
    assert_replay_of(gateway.ask("POST", "/charges", fields_for(key)), first)


# ---- forms, as clients really send them

def multipart(parts, boundary):
    body = b""
    for header, value in parts:
        body += b"--" + boundary + b"\r\n" + header + b"\r\n\r\n" + value + b"\r\n"
    return body + b"--" + boundary + b"--\r\n"


PARTS = [(b'Content-Disposition: form-data; name="amount"', b"100"),
         (b'Content-Disposition: form-data; name="slip"; filename="a.pdf"\r\n'
          b"Content-Type: application/pdf", b"%PDF-1.4\r\n--not the boundary\r\n\x00")]


def test_a_form_is_its_parts_whatever_the_boundary(gateway, upstream, key):
    def post(parts, boundary):
        return gateway.post("/form", key=key, body=multipart(parts, boundary),
                            content_type=f"multipart/form-data; boundary={boundary.decode()}")
    first = assert_first(post(PARTS, b"----WebKitFormBoundaryAAAA"))
    assert_replay_of(post(PARTS, b"0123456789abcdef"), first)
    for other in (PARTS[:1], PARTS[::-1], [PARTS[0], (PARTS[1][0], b"%PDF-1.5")],
                  [PARTS[0], (PARTS[1][0].replace(b"a.pdf", b"b.pdf"), PARTS[1][1])]):
        assert_reused(post(other, b"0123456789abcdef"), first)
    assert upstream.runs(key) == 1
    method = gateway.record(key)["fingerprint_method"]
    assert method.startswith("2 work=") and method.endswith(" form"), method


def test_a_form_in_the_url_encoding_is_its_fields(gateway, upstream, key):
    def post(body):
        return gateway.post("/form", key=key, body=body,
                            content_type="application/x-www-form-urlencoded")
    first = assert_first(post(b"name=Ann+Lee&tag=a&tag=b"))
    assert_replay_of(post(b"name=Ann%20Lee&tag=%61&tag=b&"), first)
    for other in (b"name=Ann+Lee&tag=b&tag=a", b"name=Ann+Lee&tag=a", b"name=Ann&Lee&tag=a&tag=b"):
        assert_reused(post(other), first)
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("body, content_type", [
    (b"a=%zz", "application/x-www-form-urlencoded"),
    (b"--x\r\nno end", "multipart/form-data; boundary=x"),
    (b"a=1", "multipart/form-data"), (b"a=1", "text/plain"),
    (b"", "multipart/form-data; boundary=x"),
])
def test_what_is_no_form_counts_byte_by_byte(gateway, upstream, key, body, content_type):
    first = assert_first(gateway.post("/form", key=key, body=body, content_type=content_type))
    assert_replay_of(gateway.post("/form", key=key, body=body, content_type=content_type), first)
    assert_reused(gateway.post("/form", key=key, body=body + b" ", content_type=content_type))
    assert upstream.runs(key) == 1


@pytest.mark.parametrize("client", ["curl", "node"])
def test_a_retry_of_a_client_has_another_boundary(gateway, upstream, key, client, tmp_path):
    file = tmp_path / "slip.pdf"
    file.write_bytes(b"%PDF" + bytes(range(256)) * 100)
    url = f"http://127.0.0.1:{gateway.port.number}/form"
    program = """
        const form = new FormData();
        form.set("amount", "100");
        form.set("slip", new Blob([require("fs").readFileSync(process.argv[1])]), "slip.pdf");
        fetch(process.argv[2], {method: "POST", body: form,
                                headers: {"Idempotency-Key": process.argv[3]}})
            .then((answer) => console.log(answer.headers.get("idempotent-replayed")));
        """
    command = {
        "curl": ["curl", "-s", "-F", "amount=100", "-F", f"slip=@{file}", "-H",
                 f"Idempotency-Key: {key}", "-o", "/dev/null", "-w",
                 "%header{idempotent-replayed}", url],
        "node": ["node", "-e", program, str(file), url, key]}[client]
    said = [subprocess.run(command, capture_output=True, text=True, timeout=60,
                           check=True).stdout.strip() for _ in range(2)]
    assert said[1] == "true", said
    boundaries = upstream.requests(key)
    assert len(boundaries) == 1
