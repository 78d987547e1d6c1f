#!/usr/bin/python3
"""A gateway on SQLite with life in it, and three tasks for somebody who never saw the page.

    ONCEGUARD_BIN=build/release/onceguard tests/page/practice.py

prints the address of the page, the token of an operator, the tasks, and the list of the bank.
Ctrl-C or SIGTERM ends it, and leaves nothing. `--seconds N` ends it by itself."""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

# pylint: disable=wrong-import-position
from support.admin import Admin  # noqa: E402
from support.gateway import Gateway  # noqa: E402
from support.upstream import Upstream  # noqa: E402
from support.waiting import wait_until  # noqa: E402

TOKEN = "operator-token-0001"
UNKNOWN, BOOKED = 40, 26
ROUTES = ("/charges", "/orders", "/payouts", "/invoices", "/refunds")
TASKS = """\
1. The customer of order 17 (key "order-17") says that their client sent the payment more than once.
   They were charged once. Why: what became of each attempt?
2. The gateway crashed amid forty payouts. The bank has sent the list of those that it
   booked. Settle all forty: those on the list took effect, the others did not.
3. A client complains that it is refused. Which route refuses clients, and why?
"""


class Practice:
    """What is begun in order, and ends with `with`."""

    def __init__(self, program, folder):
        self.folder = folder
        self.upstream = Upstream(folder)
        self.admin = Admin(TOKEN)
        tokens = folder / "tokens"
        tokens.write_text(f"operator {TOKEN} alice\nviewer viewer-token-00002 bob\n")
        tokens.chmod(0o600)
        self.gateway = Gateway(program, folder / "gateway", self.upstream.url, {
            "gateway": {"admin": self.admin.text, "admin_token_file": str(tokens),
                        "audit_log": str(folder / "audit.jsonl"),
                        "metrics_records_interval": "2s"},
            "defaults": {"lease": "4s"},
            "route": [{"path": path, **({"required": True} if path == "/refunds" else {})}
                      for path in ROUTES]})
        self.ended = threading.Event()
        self.customers = threading.Thread(target=self.live)
        self.keys = []

    def __enter__(self):
        self.gateway.start()
        self.crash()
        self.retry()
        self.gateway.post("/refunds")  # an old client's, whatever the draws below make
        for _ in range(60):
            self.one_request()
        self.customers.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        if self.customers.ident is not None:
            self.customers.join()
        self.gateway.close()
        self.upstream.close()
        self.admin.close()

    def crash(self):
        """Forty payouts are on their way when the gateway dies."""
        draw = random.Random(40)
        self.keys = [f"payout-{number}" for number in draw.sample(range(1_000, 10_000), UNKNOWN)]
        open_ones = [self.gateway.begin_in_time(
            self.upstream, "/payouts", key=key, body=b'{"amount":2500}',
            plan={"delay_ms": 60_000}) for key in self.keys]
        self.gateway.kill()
        for one in open_ones:
            one.close()
        self.gateway.start()
        wait_until(lambda: len(self.admin.records("state=unknown")) == UNKNOWN, 60, "their leases")
        draw.shuffle(self.keys)
        (self.folder / "bank.txt").write_text("\n".join(self.keys[:BOOKED]) + "\n")

    def retry(self):
        """A slow service, a client without patience, which asks twice more."""
        body = b'{"order":17,"amount":4900}'
        slow = {"delay_ms": 3_000, "gate": "order-17", "body": '{"charge":"ch_17","amount":4900}'}
        first = self.gateway.begin_post("/charges", key="order-17", body=body, plan=slow)
        wait_until(lambda: self.upstream.runs("order-17") == 1, 30, "the first attempt")
        self.gateway.post("/charges", key="order-17", body=body)
        first.close()
        self.noted("order-17", 1)
        self.upstream.open("order-17")
        self.noted("order-17", 2)
        self.gateway.post("/charges", key="order-17", body=body)

    def noted(self, key, count):
        """Waits until so many requests are listed, which each is some time after its answer."""
        def listed():
            return len(self.admin.get(f"/api/recent?key={key}").json()["requests"])
        wait_until(lambda: listed() == count, 60, f"request {count} of {key} in the list")

    def one_request(self):
        number = random.randrange(100, 100_000)
        path = random.choice(ROUTES)
        old_client = path == "/refunds" and number % 3
        key = None if old_client else f"{path[1:-1]}-{number}"
        for _ in range(1 + (number % 7 == 0)):
            self.gateway.post(path, key=key, body=json.dumps({"number": number}).encode(),
                              plan={"delay_ms": number % 40})

    def live(self):
        while not self.ended.wait(0.3):
            with contextlib.suppress(OSError):  # it is drained, or begins again
                self.one_request()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, help="end after so long")
    wanted = options.parse_args()
    program = os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard"
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with tempfile.TemporaryDirectory(prefix="onceguard-practice-") as folder:
        with Practice(pathlib.Path(program).resolve(), pathlib.Path(folder)) as begun:
            print(f"page   http://{begun.admin.text}/\ntoken  {TOKEN}\n"
                  f"bank   {folder}/bank.txt\n\n{TASKS}", flush=True)
            ended.wait(wanted.seconds)


if __name__ == "__main__":
    main()
