"""The test service in Flask, behind a middleware of a page that keeps Onceguard's contract.

It is what a careful person writes for a service of one process. Nothing in it is Onceguard's.
"""

import hashlib
import json
import re
import threading

from flask import Flask, Response, request
from service import NEVER
from werkzeug.serving import make_server

KEY = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])+)"(?: *; *[a-z*][a-z0-9_.*-]*(?:=[^;]+)?)*'
                 r"|([A-Za-z0-9\-._~:/+=@!$&'()*%#^|]+)")
RELEASED = {501, 503}

app = Flask(__name__)
records = {}
runs = {}
lock = threading.Lock()


def problem(status, name, retryable=False):
    answer = app.json.response(type=f"urn:problem:{name}", status=status, title=name,
                               retryable=retryable)
    answer.status_code = status
    answer.content_type = "application/problem+json; charset=utf-8"
    if retryable:
        answer.headers["Retry-After"] = "1"
    return answer


def key_of(text):
    """WSGI joins field lines by commas, which no key has outside its quotes."""
    found = KEY.fullmatch(text)
    if not found:
        return None
    key = re.sub(r"\\(.)", r"\1", found[1]) if found[1] else found[2]
    return key if len(key) <= 255 else None


def fingerprint():
    target = request.environ["RAW_URI"]
    parts = [request.method, target, request.headers.get("Content-Type", "")]
    return hashlib.sha256(json.dumps(parts).encode() + request.get_data()).digest()


def claim(owner, wanted):
    """None: the caller is to run. Otherwise the answer."""
    with lock:
        found = records.get(owner)
        if found is None:
            records[owner] = {"fingerprint": wanted, "state": "running"}
            return None
    if found["fingerprint"] != wanted:
        return problem(422, "key-reused")
    if found["state"] == "running":
        return problem(409, "in-progress", retryable=True)
    if found["state"] == "unknown":
        return problem(409, "outcome-unknown")
    status, fields, body = found["answer"]
    return Response(body, status, [*fields, ("Idempotent-Replayed", "true")])


def settle(owner, answer):
    status = answer.status_code
    if status < 400:
        fields = [field for field in answer.headers if field[0] not in ("Set-Cookie", "Date")]
        records[owner].update(state="done", answer=(status, fields, answer.get_data()))
    elif status < 500 or status in RELEASED:
        del records[owner]
    else:
        records[owner]["state"] = "unknown"


def guarded(work):
    text = request.headers.get("Idempotency-Key")
    if request.method not in ("POST", "PATCH"):
        return work()
    if text is None:
        required = request.path.startswith("/conformance/required")
        return problem(400, "key-missing") if required else work()
    key = key_of(text)
    if key is None:
        return problem(400, "key-malformed")
    owner = (request.headers.get("Authorization"), key)
    refused = claim(owner, fingerprint())
    if refused is not None:
        return refused
    try:
        answer = work()
    except Exception:
        records[owner]["state"] = "unknown"
        raise
    settle(owner, answer)
    return answer


def work():
    plan = json.loads(request.headers.get("Conformance-Work", "{}"))
    counter = request.headers["Conformance-Counter"]
    with lock:
        runs[counter] = run = runs.get(counter, 0) + 1
    NEVER.wait(plan.get("delay", 0) / 1000)
    if plan.get("break"):
        raise RuntimeError("the work ended without an answer")
    kind, body = "application/json", json.dumps({"run": run}).encode()
    if plan.get("bytes"):
        kind, body = "application/octet-stream", bytes(range(256))
    if "size" in plan:
        body = b"x" * plan["size"]
    answer = Response(body, plan.get("status", 201), content_type=kind)
    for name, value in plan.get("fields", []):
        answer.headers.add(name, value)
    return answer


METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


@app.route("/conformance", methods=METHODS)
@app.route("/conformance/", methods=METHODS)
@app.route("/conformance/<path:_>", methods=METHODS)
def conformance(_=None):
    return guarded(work)


@app.get("/conformance/runs/<counter>")
def count(counter):
    return {"runs": runs.get(counter, 0)}


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()
