"""The document of the admin API against the server: every path answers, and as it says."""

import json
import pathlib

import pytest

from support.schema import faults, resolve
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "src/admin/openapi.json").read_text())
# For the history, longer_history_test.py has a Prometheus.
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods
              if path != "/api/history"]


def documented(path, method, answer):
    """Fails unless the answer is one that the document has for this operation."""
    known = DOCUMENT["paths"][path][method]["responses"]
    assert str(answer.status) in known, f"{method} {path} answered {answer.status}"
    content = resolve(known[str(answer.status)], DOCUMENT)["content"]
    kind = answer.get("Content-Type").split(";")[0]
    assert kind in content, f"{method} {path} answered {kind}"
    if kind.endswith("json"):
        assert faults(answer.json(), content[kind]["schema"], DOCUMENT) == []
    return answer


def body_of(path, method):
    """A body with what the document requires."""
    if "requestBody" not in DOCUMENT["paths"][path][method]:
        return None
    content = DOCUMENT["paths"][path][method]["requestBody"]["content"]
    needed = resolve(content["application/json"]["schema"], DOCUMENT)["required"]
    whole = {"reason": "a test", "filter": {"method": "POST"}, "method": "POST", "url": "/charges"}
    return {name: whole[name] for name in needed}


@pytest.fixture
def records(begin_admin, fresh_key):
    """A gateway with a record in each of a few states; the gateway, its listener, the records."""
    gateway, admin = begin_admin()
    wait_until(admin.is_ready, what="readiness")
    gateway.post(key=fresh_key())
    for _ in range(3):
        gateway.post(key=fresh_key(), plan={"status": 500})
    return gateway, admin, admin.records()


def test_the_server_serves_the_document_of_the_repository(records):
    _, admin, _ = records
    assert admin.get("/api/openapi.json").json() == DOCUMENT


def test_the_overview_of_a_process_that_has_counted_nothing(begin_admin):
    _, admin = begin_admin(metrics_records_interval="")
    answer = documented("/api/overview", "get", admin.get("/api/overview"))
    assert answer.json()["records"] == {} and answer.json()["totals"] == {}


@pytest.mark.parametrize("path, method", OPERATIONS)
def test_an_operation_answers_as_the_document_says(records, path, method):
    _, admin, found = records
    unknown = next(one for one in found if one["state"] == "unknown")
    target = path.replace("{record}", unknown["record"])
    answer = documented(path, method, admin.ask(method.upper(), target, body_of(path, method)))
    assert answer.status in (200, 202)


@pytest.mark.parametrize("path, method", [o for o in OPERATIONS if "{record}" in o[0]])
def test_a_refusal_is_as_the_document_says(records, path, method):
    _, admin, found = records
    done = next(one for one in found if one["state"] == "completed")
    for record, body in (("0" * 64, {"reason": "x"}), ("xyz", {"reason": "x"}),
                         (done["record"], {"reason": "x", "dry_run": True}),
                         (done["record"], {"reason": ""})):
        documented(path, method, admin.ask(method.upper(), path.replace("{record}", record), body))


@pytest.mark.parametrize("act", ["release", "complete", "delete"])
def test_a_selection_is_as_the_document_says(records, act):
    _, admin, _ = records
    path = f"/api/records/{act}"
    for body in ({"reason": "x", "filter": {}}, {"filter": {"state": "unknown"}},
                 {"reason": "x", "filter": {"state": ["completed", "unknown"]}},
                 {"reason": "x", "filter": {"state": "completed"}, "dry_run": False, "wait": False},
                 {"reason": "x", "filter": {"attention": True}, "dry_run": False, "force": True}):
        documented(path, "post", admin.post(path, body))


def test_the_filters_of_lists_and_of_selections_are_the_same():
    listed = DOCUMENT["paths"]["/api/records"]["get"]["parameters"]
    names = {one["name"] for one in listed} - {"limit", "cursor"}
    assert names == set(DOCUMENT["components"]["schemas"]["Filter"]["properties"])


@pytest.mark.parametrize("state", ["completed", "unknown"])
def test_each_record_is_as_the_document_says(records, state):
    _, admin, found = records
    one = next(record for record in found if record["state"] == state)
    documented("/api/records/{record}", "get", admin.get(f"/api/records/{one['record']}"))
    documented("/api/records", "get", admin.get(f"/api/records?state={state}"))


def test_a_caller_without_a_token_is_refused_as_the_document_says(begin_admin, tokens):
    _, admin = begin_admin(admin_token_file=tokens[0])
    for path, method in OPERATIONS:
        if DOCUMENT["paths"][path][method].get("security") == []:
            continue
        target = path.replace("{record}", "0" * 64)
        assert documented(path, method, admin.ask(method.upper(), target)).status == 401
