"""The gateway on which people practise: it starts with what its three tasks are about."""

import os
import pathlib
import signal
import subprocess
import sys

from page.practice import BOOKED, TOKEN, UNKNOWN
from support.admin import Admin


def test_the_three_tasks_are_there(onceguard):
    program = pathlib.Path(__file__).parent / "practice.py"
    begun = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "ONCEGUARD_BIN": str(onceguard)})
    facts = dict(begun.stdout.readline().split(maxsplit=1) for _ in range(3))
    facts = {name: value.strip() for name, value in facts.items()}
    try:
        assert facts["token"] == TOKEN
        admin = Admin(TOKEN)
        admin.close()  # of its port: the program has its own
        host, port = facts["page"].removeprefix("http://").rstrip("/").split(":")
        admin.address, admin.text = (host, int(port)), f"{host}:{port}"
        (order,) = admin.records("key=order-17")
        assert (order["state"], order["attempt"]) == ("completed", 1)
        asked = admin.get("/api/recent?key=order-17").json()["requests"]
        assert [one["outcome"] for one in asked] == ["busy", "ran", "replayed"]
        unknown = {one["key"] for one in admin.records("state=unknown")}
        booked = pathlib.Path(facts["bank"]).read_text().split()
        assert len(unknown) == UNKNOWN and len(booked) == BOOKED and set(booked) < unknown
        routes = admin.get("/api/overview").json()["routes"]
        assert [one["route"] for one in routes if "refused" in one["outcomes"]] == ["/refunds"]
    finally:
        begun.send_signal(signal.SIGTERM)
        assert begun.wait(60) == 0
    assert not pathlib.Path(facts["bank"]).parent.exists()
