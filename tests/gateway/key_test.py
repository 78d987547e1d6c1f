"""Which requests are guarded, and what is an idempotency key."""

import uuid

import pytest

from support.client import request_bytes
from support.expecting import assert_first, assert_problem, assert_replay_of

CONFIG = {
    "route": [
        {"path": "/strict", "key_syntax": "strict"},
        {"path": "/uuid", "key_format": "uuid"},
        {"path": "/required", "required": True},
        {"path": "/put", "methods": ["PUT"]},
    ]
}

LENIENT = {
    "quoted": '"{}"',
    "bare": "{}",
    "with a parameter": '"{}";ttl=60',
    "with two parameters": '"{}";a;b="x"',
    "in white space": '  \t"{}" \t',
    "bare in white space": "   {}  ",
}
# Values that are no key; {} is where an otherwise good key stands.
BROKEN = {
    "empty": "",
    "empty string": '""',
    "unterminated": '"{}',
    "quote at the end only": '{}"',
    "unknown escape": '"{}\\x"',
    "backslash at the end": '"{}\\',
    "list of strings": '"{}", "b"',
    "list of bare values": "{},b",
    "two bare words": "{} b",
    "text after the string": '"{}"x',
    "broken parameter": '"{}";',
    "parameter without name": '"{}";=1',
    "parameter in upper case": '"{}";A=1',
    "tab in the string": '"{}\tb"',
    "not ASCII": '"{}\xe9"',
    "bare not ASCII": "{}\xe9",
    "boolean": "?1",
    "bytes": ":{}:;",
    "question mark": "{}?",
    "brackets": "({})[",
    "comma": ",",
}
STRICT_BROKEN = {"bare": "{}", "token": "*{}", "integer": "12345", "decimal": "1.5",
                 "bytes": ":YWJj:", "boolean": "?1"}


@pytest.mark.parametrize("form", LENIENT.values(), ids=LENIENT.keys())
def test_every_form_of_a_key_is_the_same_key(gateway, upstream, key, form):
    first = assert_first(gateway.post(key=f'"{key}"'))
    assert_replay_of(gateway.post(key=form.format(key)), first)
    assert upstream.runs(f'"{key}"') == 1


@pytest.mark.parametrize("form", LENIENT.values(), ids=LENIENT.keys())
def test_the_key_is_forwarded_unchanged(gateway, upstream, key, form):
    assert_first(gateway.post(key=form.format(key)))
    sent = upstream.requests(form.format(key).strip(" \t"))
    assert len(sent) == 1
    assert sent[0]["head"].lower().count("idempotency-key:") == 1


def test_a_bare_key_may_have_these_marks(gateway, upstream, key):
    value = key + "-._~:/+=@!$&'()*%#^|"
    first = assert_first(gateway.post(key=value))
    assert_replay_of(gateway.post(key=f'"{value}"'), first)
    assert upstream.runs(value) == 1


def test_escapes_in_a_string_are_read(gateway, key):
    first = assert_first(gateway.post(key=f'"{key}\\"\\\\"'))
    assert_replay_of(gateway.post(key=f'"{key}\\"\\\\";p'), first)
    assert_first(gateway.post(key=f'"{key}\\\\\\""'))


@pytest.mark.parametrize("escaped", [False, True], ids=["plain", "with an escape"])
def test_255_bytes_after_parsing_is_the_longest_key(gateway, key, escaped):
    mark = '\\"' if escaped else "x"
    longest = key + mark + "y" * (255 - len(key) - 1)
    assert_first(gateway.post(key=f'"{longest}"'))
    assert_problem(gateway.post(key=f'"{longest}z"'), 400, "key-malformed", False)


def test_the_shortest_key_is_one_byte(start_gateway, upstream):
    gateway = start_gateway(upstream)
    first = assert_first(gateway.post(key="a"))
    assert_replay_of(gateway.post(key='"a"'), first)


@pytest.mark.parametrize("form", BROKEN.values(), ids=BROKEN.keys())
def test_a_malformed_key_is_refused(gateway, upstream, key, form):
    path = f"/charges/{key}"
    assert_problem(gateway.post(path, key=form.format(key)), 400, "key-malformed", False)
    assert upstream.requests(path=path) == []


@pytest.mark.parametrize("byte", ["\x01", "\x0b", "\x1f", "\x7f"])
def test_a_control_character_is_refused(gateway, upstream, key, byte):
    path = f"/charges/{key}"
    assert gateway.post(path, key=f'"{key}{byte}"').status == 400
    assert upstream.requests(path=path) == []


@pytest.mark.parametrize("second", ["other", "same"])
def test_two_key_lines_are_refused(gateway, upstream, key, second):
    path = f"/charges/{key}"
    twice = [("Idempotency-Key", key), ("Idempotency-Key", key if second == "same" else "b")]
    assert_problem(gateway.post(path, fields=twice), 400, "key-malformed", False)
    assert upstream.requests(path=path) == []


@pytest.mark.parametrize("form", STRICT_BROKEN.values(), ids=STRICT_BROKEN.keys())
def test_strict_refuses_what_is_no_string(gateway, key, form):
    assert_problem(gateway.post("/strict", key=form.format(key)), 400, "key-malformed", False)


def test_strict_takes_a_string_with_parameters(gateway, key):
    first = assert_first(gateway.post("/strict", key=f'"{key}"'))
    assert_replay_of(gateway.post("/strict", key=f'"{key}"; a=1;b=?0'), first)


@pytest.mark.parametrize("form", ["{}", '"{}"'], ids=["bare", "quoted"])
def test_uuid_format_takes_uuids(gateway, form):
    value = form.format(uuid.uuid4())
    first = assert_first(gateway.post("/uuid", key=value))
    assert_replay_of(gateway.post("/uuid", key=value), first)
    assert_first(gateway.post("/uuid", key=form.format(str(uuid.uuid4()).upper())))


@pytest.mark.parametrize("value", ["abc", "{}x", "x{}", "{}-1", "urn:uuid:{}"])
def test_uuid_format_refuses_the_rest(gateway, value):
    made = value.format(uuid.uuid4())
    assert_problem(gateway.post("/uuid", key=made), 400, "key-malformed", False)
    bare = uuid.uuid4().hex
    assert_problem(gateway.post("/uuid", key=bare), 400, "key-malformed", False)


def test_a_required_key_that_is_missing(gateway, upstream, key):
    path = f"/required/{key}"
    assert_problem(gateway.post(path), 400, "key-missing", False)
    assert upstream.requests(path=path) == []


def test_without_a_key_a_request_passes_unguarded(gateway, upstream, key):
    path = f"/charges/{key}"
    answers = [assert_first(gateway.post(path)) for _ in range(2)]
    assert answers[0].body != answers[1].body
    assert len(upstream.requests(path=path)) == 2


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_methods_that_are_not_listed_pass_key_or_not(gateway, upstream, key, method):
    for _ in range(2):
        answer = gateway.post("/required", key=key, method=method)
        assert answer.status == 201
        assert not answer.replayed
    assert upstream.runs(key) == 2
    assert all(r["scope"] is None for r in upstream.requests(key))


def test_a_malformed_key_does_not_matter_where_none_is_looked_for(gateway, upstream, key):
    value = f'"{key}'
    assert gateway.ask("GET", "/required", [("Idempotency-Key", value)]).status == 201
    assert upstream.runs(value) == 1


def test_patch_is_guarded(gateway, upstream, key):
    first = assert_first(gateway.post(key=key, method="PATCH"))
    assert_replay_of(gateway.post(key=key, method="PATCH"), first)
    assert upstream.runs(key) == 1


def test_methods_can_be_listed_per_route(gateway, upstream, key):
    first = assert_first(gateway.post("/put", key=key, method="PUT"))
    assert_replay_of(gateway.post("/put", key=key, method="PUT"), first)
    for _ in range(2):
        assert_first(gateway.post("/put", key=key, method="POST"))
    assert upstream.runs(key) == 3


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"])
def test_safe_methods_cannot_be_listed(start_gateway, upstream, method):
    config = {"defaults": {"methods": ["POST", method]}}
    gateway = start_gateway(upstream, config, started=False)
    gateway.start(wait=False)
    assert gateway.wait() == 3
    gateway.says(method)


def test_field_names_are_read_in_any_case(gateway, key):
    first = assert_first(gateway.post(fields=[("IDEMPOTENCY-KEY", key)]))
    assert_replay_of(gateway.post(fields=[("idempotency-key", key)]), first)


def test_the_key_is_not_echoed_into_a_problem(gateway, key):
    value = f'"<script>{key}'
    answer = gateway.post(key=value)
    assert_problem(answer, 400, "key-malformed", False)
    assert b"<script>" not in answer.body
    assert key.encode() not in answer.body


def test_a_refused_key_leaves_the_connection_in_order(gateway, key):
    """A refusal before the body was read ends the connection, and the client gets to see it."""
    with gateway.connect() as connection:
        connection.reader.expect("POST")
        connection.send(request_bytes("POST", "/charges", [("Idempotency-Key", '"')],
                                      b"x" * 2_000_000))
        answer = connection.read()
        assert_problem(answer, 400, "key-malformed", False)
        assert answer.get("Connection") == "close"
        assert connection.closed_within(30)
    assert_first(gateway.post(key=key))
