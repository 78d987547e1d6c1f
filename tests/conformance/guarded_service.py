"""The test service behind a guard of its own, which keeps Onceguard's contract.

    guarded_service.py '{"key_bytes": 64, ...}'

Each rule can be set otherwise: a bug in a server of somebody else, or a habit that harms nobody.
"""

import dataclasses
import hashlib
import json
import math
import re
import select
import socket
import sys
import threading
import time

from service import NEVER, Server, Service

STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"'
                    r'(?: *; *[a-z*][a-z0-9_.*-]*(?:=[A-Za-z0-9*"][^;]*)?)*')
BARE = re.compile(r"[A-Za-z0-9\-._~:/+=@!$&'()*%#^|]+")


@dataclasses.dataclass
class Rules:
    """What the guard does, as the contract has it."""

    # Which requests, and whose.
    methods: list = dataclasses.field(default_factory=lambda: ["POST", "PATCH"])
    empty_bodies: bool = True        # are guarded too
    required: bool = True            # a key, at /conformance/required
    scope: bool = True               # a key belongs to its caller
    anonymous: bool = True           # and one without credential is another one
    # The key.
    key_bytes: int = 255             # that count
    key_case: bool = True            # counts
    bare_keys: bool = True           # are the same as those in quotes
    malformed: str = "refused"       # or "taken" as they are
    many_lines: str = "refused"      # or the "first" counts
    # What is the same request.
    parts: list = dataclasses.field(
        default_factory=lambda: ["method", "path", "query", "type", "body"])
    body_bytes: float = math.inf     # that count
    chunks: str = "counted"          # or "ignored", or "refused"
    mismatch_removes: bool = False   # the record
    # Running.
    gap: str = ""                    # between look and claim, of a "fresh" or "released" key
    lock: float = math.inf           # seconds that a run may take
    gone_client: str = "ignored"     # or its record is removed at once ("watched"), or after a
    #                                  "failed-write", or the work counts as unknown ("unknown")
    # What happened.
    kept: list = dataclasses.field(default_factory=lambda: [2, 3])  # classes of statuses
    unknown: list = dataclasses.field(default_factory=lambda: [500, 502, 504])
    broken: str = "unknown"          # or "released"
    retention: float = math.inf      # seconds
    unknown_for: float = math.inf    # seconds
    replays: float = math.inf        # of a record
    # The replay.
    stored_status: bool = True
    stored_fields: bool = True       # all, not the Content-Type alone
    repeated_fields: bool = True
    stored_body: float = math.inf    # bytes
    text: str = ""                   # the coding in which the body is kept
    cookies: bool = False
    marker: str = "replay"           # or "never", or "always"
    # Refusals, and what a server adds to its answers.
    problem_type: str = "application/problem+json"
    detail: bool = True
    retry_after: bool = True
    fresh_fields: bool = False
    latency: float = 0               # seconds before each request is looked at
    bytes: bool = True               # the service knows them


RULES = Rules()
RECORDS = {}
CLAIMS = threading.Lock()


@dataclasses.dataclass
class Record:
    fingerprint: bytes
    state: str = "running"
    answer: tuple = ()
    ends: float = math.inf
    replays: int = 0


def key_of(lines):
    """The key, or None where it is malformed."""
    if len(lines) > 1 and RULES.many_lines == "refused":
        return None
    text = lines[0]
    found = STRING.fullmatch(text)
    if found:
        key = re.sub(r"\\(.)", r"\1", found[1])
    elif RULES.malformed == "taken" or BARE.fullmatch(text):
        key = text if RULES.bare_keys else "bare " + text
    else:
        return None
    if not 1 <= len(key) <= 255 and RULES.malformed == "refused":
        return None
    key = key[:RULES.key_bytes]
    return key if RULES.key_case else key.lower()


class Guarded(Service):
    """One request."""

    def run(self):
        NEVER.wait(RULES.latency)
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        if chunked and RULES.chunks == "refused":
            self.close_connection = True
            return self.answer(411, [("Content-Type", "text/plain")], b"no chunks\n")
        body = self.read_body()
        if chunked and RULES.chunks == "ignored":
            body = b""
        lines = self.headers.get_all("Idempotency-Key") or []
        guarded = self.command in RULES.methods and (body or chunked or RULES.empty_bodies)
        if not guarded:
            return self.pass_on()
        if not lines:
            if RULES.required and self.path.startswith("/conformance/required"):
                return self.refuse(400, "key-missing", False)
            return self.pass_on()
        key = key_of(lines)
        if key is None:
            return self.refuse(400, "key-malformed", False)
        return self.guard((self.scope(), key), self.fingerprint(body))

    do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = run

    def do_GET(self):
        if not self.path.startswith("/conformance/runs/"):
            return self.run()
        NEVER.wait(RULES.latency)
        return super().do_GET()

    def pass_on(self):
        if done := self.work():
            self.answer(*done)

    def scope(self):
        caller = self.headers.get("Authorization", "")
        if not RULES.scope or (not caller and not RULES.anonymous):
            return "all"
        return caller

    def fingerprint(self, body):
        path, _, query = self.path.partition("?")
        known = {"method": self.command, "path": path, "query": query,
                 "type": self.headers.get("Content-Type", ""), "length": str(len(body))}
        digest = hashlib.sha256()
        for part in RULES.parts:
            value = body[:int(min(RULES.body_bytes, len(body)))] if part == "body" \
                else known[part].encode()
            digest.update(b"%d:" % len(value) + value)
        return digest.digest()

    # --- claim, run, settle ---

    def guard(self, owner, fingerprint):
        verdict, record = self.claim(owner, fingerprint)
        if verdict == "busy":
            return self.refuse(409, "in-progress", True)
        if verdict == "mismatch":
            return self.refuse(422, "key-reused", False)
        if verdict == "unknown":
            return self.refuse(409, "outcome-unknown", False)
        if verdict == "replay":
            return self.replay(*record.answer)
        done = self.watched_work(owner, record)
        self.settle(owner, record, done)
        if done and self.connection.fileno() >= 0:
            self.first_answer(owner, *done)
        return None

    def claim(self, owner, fingerprint):
        """What a request meets, and its record."""
        with CLAIMS:
            found = RECORDS.get(owner)
            verdict = self.verdict(owner, found, fingerprint)
            atomic = RULES.gap != ("fresh" if found is None else found.state)
            if verdict == "run" and atomic:
                return verdict, self.begin(owner, fingerprint)
        if verdict != "run":
            return verdict, found
        NEVER.wait(0.05)
        return verdict, self.begin(owner, fingerprint)

    @staticmethod
    def begin(owner, fingerprint):
        record = Record(fingerprint, ends=time.monotonic() + RULES.lock)
        RECORDS[owner] = record
        return record

    @staticmethod
    def verdict(owner, found, fingerprint):
        if found is None or found.state == "released" or time.monotonic() > found.ends:
            return "run"
        if found.fingerprint != fingerprint:
            if RULES.mismatch_removes:
                del RECORDS[owner]
            return "mismatch"
        if found.state != "done":
            return "busy" if found.state == "running" else "unknown"
        found.replays += 1
        if found.replays >= RULES.replays:
            del RECORDS[owner]
        return "replay"

    def watched_work(self, owner, record):
        """Does the work, and sees meanwhile whether the client goes away."""
        if RULES.gone_client not in ("watched", "unknown"):
            return self.work()
        done = []
        worker = threading.Thread(target=lambda: done.append(self.work()))
        worker.start()
        while worker.is_alive():
            worker.join(0.01)
            if select.select([self.connection], [], [], 0)[0] and self.is_gone():
                if RULES.gone_client == "watched":
                    RECORDS.pop(owner, None)
                else:
                    record.state = "unknown"
                worker.join()
                self.close_connection = True
                return None
        return done[0]

    def is_gone(self):
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    @staticmethod
    def settle(owner, record, done):
        with CLAIMS:
            if RECORDS.get(owner) is not record or record.state == "unknown":
                return
            status = done[0] if done else None
            now = time.monotonic()
            if status and status // 100 in RULES.kept:
                record.state, record.answer = "done", done
                record.ends = now + RULES.retention
            elif status in RULES.unknown or (not status and RULES.broken == "unknown"):
                record.state, record.ends = "unknown", now + RULES.unknown_for
            else:
                record.state, record.ends = "released", math.inf

    # --- answers ---

    def first_answer(self, owner, status, fields, body):
        marker = [("Idempotent-Replayed", "true")] if RULES.marker == "always" else []
        try:
            self.answer(status, fields + marker, body)
        except OSError:
            if RULES.gone_client == "failed-write":
                RECORDS.pop(owner, None)

    def replay(self, status, fields, body):
        kept = [(name, value) for name, value in fields
                if RULES.cookies or name.lower() != "set-cookie"]
        if not RULES.stored_fields:
            kept = [field for field in kept if field[0] == "Content-Type"]
        if not RULES.repeated_fields:
            kept = list(dict(map(tuple, kept)).items())
        if RULES.marker != "never":
            kept.append(("Idempotent-Replayed", "true"))
        if RULES.text:
            body = body.decode(RULES.text, "replace").encode()
        body = body[:int(min(RULES.stored_body, len(body)))]
        self.answer(status if RULES.stored_status else 200, kept, body)

    def refuse(self, status, name, retryable):
        problem = {"type": "https://example.com/problems/" + name, "status": status,
                   "title": name, "retryable": retryable}
        if RULES.detail:
            problem["detail"] = "Read the manual."
        fields = [("Content-Type", RULES.problem_type)]
        if retryable and RULES.retry_after:
            fields.append(("Retry-After", "1"))
        self.answer(status, fields, json.dumps(problem).encode())

    def answer(self, status, fields, body):
        if RULES.fresh_fields:
            now = time.monotonic_ns()
            fields = [("X-Request-Id", str(now)), *fields, ("Server-Timing", f"app;dur={now}")]
        super().answer(status, fields, body)

    def work(self):
        if not RULES.bytes and self.headers.get("Conformance-Work"):
            plan = json.loads(self.headers["Conformance-Work"])
            plan.pop("bytes", None)
            self.headers.replace_header("Conformance-Work", json.dumps(plan))
        return super().work()


if __name__ == "__main__":
    RULES = Rules(**json.loads(sys.argv[1]))
    server = Server(("127.0.0.1", 0), Guarded)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()
