"""The metrics of a gateway, as a scrape gives them."""

import re

from support.waiting import wait_until

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


class Samples(dict):
    """Values by name and labels, as a scrape gives them."""

    def __init__(self, text):
        super().__init__()
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, labels, value = SAMPLE.match(line).groups()
                pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
                self[name, tuple(sorted(pairs))] = float(value)

    def value(self, name, **labels):
        return self.get((name, tuple(sorted(labels.items()))))


def scrape_text(admin):
    answer = admin.get("/metrics")
    assert answer.status == 200
    assert answer.get("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    return answer.body.decode()


def scrape(admin):
    return Samples(scrape_text(admin))


def wait_for_free_slots(gateway, admin):
    """Until no connection counts any more, not even the one that saw the gateway come up."""
    gateway.ask("GET", "/", host=None)  # refused, and accepted after that one
    wait_until(lambda: scrape(admin).value("onceguard_connections") == 0, what="free slots")
