"""The kit notices each of these bugs in a server, and blames none that is right."""

import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent

# Rules of guarded_service.py, and the cases that notice.
BUGS = {
    "the record is dropped when the client closes": (
        {"gone_client": "watched"}, {"client-leaves/close", "client-leaves/reset"}),
    "the record is dropped when the answer can't be written": (
        {"gone_client": "failed-write"}, {"client-leaves/reset"}),
    "a lock is shorter than the work": ({"lock": 1.5}, {"long-work"}),
    "a record ends with the lock": ({"retention": 1.5}, {"late-repeat"}),
    "an unknown outcome is forgotten": (
        {"unknown_for": 1.5}, {"late-repeat-of-unknown/error", "late-repeat-of-unknown/no-answer"}),
    "a record is good for one replay": ({"replays": 1}, {"repeat"}),
    "keys are cut at 32 bytes": ({"key_bytes": 32}, {"similar-keys/36-bytes"}),
    "keys are cut at 64 bytes": ({"key_bytes": 64}, {"similar-long-keys/65-bytes"}),
    "keys are cut at 200 bytes": ({"key_bytes": 200}, {"similar-long-keys/201-bytes"}),
    "keys are cut at 254 bytes": ({"key_bytes": 254}, {"similar-long-keys/255-bytes"}),
    "keys ignore case": ({"key_case": False}, {"key-case"}),
    "a bare key is another key": ({"bare_keys": False}, {"bare-key"}),
    "malformed keys are taken": ({"malformed": "taken"}, {"malformed-key/unterminated"}),
    "the first of two keys counts": ({"many_lines": "first"}, {"two-keys"}),
    "a required key is not required": ({"required": False}, {"missing-key"}),
    "a key belongs to nobody": ({"scope": False}, {"scope", "scope-without-credential"}),
    "PATCH is not guarded": ({"methods": ["POST"]}, {"patch"}),
    "PUT is guarded": ({"methods": ["POST", "PATCH", "PUT"]}, {"idempotent-method/PUT"}),
    "GET is guarded": ({"methods": ["POST", "PATCH", "GET"]}, {"safe-method/GET"}),
    "empty bodies are not guarded": ({"empty_bodies": False}, {"empty-body"}),
    "the body does not count": (
        {"parts": ["method", "path", "query", "type"]}, {"another-body", "chunked-request"}),
    "the length of the body counts": (
        {"parts": ["method", "path", "query", "type", "length"]}, {"large-request"}),
    "the begin of the body counts": ({"body_bytes": 4096}, {"large-request"}),
    "chunked bodies do not count": ({"chunks": "ignored"}, {"chunked-request", "another-framing"}),
    "the method does not count": (
        {"parts": ["path", "query", "type", "body"]}, {"another-request/method"}),
    "the path does not count": (
        {"parts": ["method", "query", "type", "body"]}, {"another-request/path"}),
    "the query does not count": (
        {"parts": ["method", "path", "type", "body"]}, {"another-request/query"}),
    "the content type does not count": (
        {"parts": ["method", "path", "query", "body"]}, {"another-request/content-type"}),
    "a refused body removes the record": (
        {"mismatch_removes": True}, {"another-body-leaves-the-first"}),
    "look, then claim": ({"gap": "fresh"}, {"many-at-once"}),
    "look, then claim what was released": ({"gap": "released"}, {"many-after-a-release"}),
    "a 500 releases": ({"unknown": [502, 504]}, {"unknown-outcome/500"}),
    "work without an answer releases": ({"broken": "released"}, {"broken-answer"}),
    "client errors are kept": ({"kept": [2, 3, 4]}, {"released-error/404"}),
    "redirects are not kept": ({"kept": [2]}, {"status/303"}),
    "the status of a replay is 200": ({"stored_status": False}, {"repeat"}),
    "a replay has no fields": ({"stored_fields": False}, {"repeat-is-a-replay"}),
    "a replay has the last of equal fields": ({"repeated_fields": False}, {"repeated-fields"}),
    "a replay sets cookies": ({"cookies": True}, {"set-cookie"}),
    "binary answers are kept as UTF-8": ({"text": "utf-8"}, {"binary-answer"}),
    "binary answers are kept as ASCII": ({"text": "ascii"}, {"binary-answer"}),
    "binary answers are kept as Latin-1": ({"text": "latin-1"}, {"binary-answer"}),
    "a replay ends at 64 KiB": ({"stored_body": 65536}, {"large-answer"}),
    "a replay is not marked": ({"marker": "never"}, {"repeat-is-marked"}),
    "a first answer is marked": ({"marker": "always"}, {"first-request-has-no-marker"}),
    "a refusal is no problem": ({"problem_type": "text/plain"}, {"another-request-problem"}),
    "a busy key has no Retry-After": ({"retry_after": False}, {"concurrent-repeat-problem"}),
}

# What a right server may do.
HABITS = {
    "nothing else": {},
    "the charset of a problem": {"problem_type": "Application/Problem+JSON; charset=utf-8"},
    "a problem without detail": {"detail": False},
    "fields of its own": {"fresh_fields": True},
    "chunks are refused": {"chunks": "refused"},
    "what a client left is unknown": {"gone_client": "unknown"},
}
QUICK = ("--jobs", "8", "--long-work", "2")


@pytest.fixture
def guarded(start_service):
    return lambda rules: start_service(sys.executable, HERE / "guarded_service.py",
                                       json.dumps(rules))


@pytest.mark.parametrize("bug", BUGS)
def test_a_server_with_a_bug_does_not_pass(guarded, kit, bug):
    rules, cases = BUGS[bug]
    chosen = [word for case in sorted(cases) for word in ("--only", case)]
    assert set(kit(guarded(rules)).failed(*QUICK, *chosen)) == cases


@pytest.mark.parametrize("habit", HABITS)
def test_a_right_server_is_not_blamed(guarded, kit, habit):
    report = kit(guarded(HABITS[habit])).report(*QUICK)
    assert [case for case in report["cases"] if not case["passed"]] == []
    assert report["summary"]["skipped"] == 0


def test_a_right_server_that_is_slow_is_not_blamed(guarded, kit):
    slow = kit(guarded({"latency": 0.9}))
    assert slow.failed("--jobs", "32", "--long-work", "2") == {}


def test_a_test_service_that_knows_no_bytes_is_not_asked_for_them(guarded, kit):
    older = kit(guarded({"bytes": False}))
    report = older.report(*QUICK)
    assert [case["name"] for case in report["cases"] if "skipped" in case] == ["binary-answer"]
    assert (report["summary"]["failed"], report["summary"]["skipped"]) == (0, 1)
    done = older.run("--only", "binary-answer")
    assert done.stdout.startswith("skip binary-answer: the test service does not know `bytes`")
    assert "1 cases: 0 passed, 0 failed, 1 not checked" in done.stdout
