"""The work that `onceguard conformance` asks each example for: counted in a file, and steered."""

import json
import os

EFFECTS = os.environ.get("EFFECTS", "effects.txt")


def runs(counter):
    """How often the work of this counter was done, by all processes of the service."""
    try:
        with open(EFFECTS, encoding="latin-1") as done:
            return done.read().split().count(counter)
    except FileNotFoundError:
        return 0


def begin(headers):
    """Does the effect. Gives the seconds that the work takes, and its answer."""
    plan = json.loads(headers.get("Conformance-Work") or "{}")
    counter = headers["Conformance-Counter"]
    with open(EFFECTS, "a", encoding="latin-1") as done:
        done.write(counter + "\n")
    kind, body = "application/json", json.dumps({"run": runs(counter)}).encode()
    if plan.get("bytes"):
        kind, body = "application/octet-stream", bytes(range(256))
    if "size" in plan:
        body = b"x" * plan["size"]
    status = plan.get("status", 201)
    fields = [(name, value) for name, value in plan.get("fields", [])]
    answer = status, [*fields, ("Content-Type", kind)], b"" if status == 204 else body
    return plan.get("delay", 0) / 1000, None if plan.get("break") else answer
