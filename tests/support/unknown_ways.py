"""Ways in which a gateway leaves keys with an unknown outcome."""

import base64
import collections

from support.client import all_at_once, fields_for, request_bytes
from support.waiting import wait_until

RAW = base64.b64encode
TRUNCATED = RAW(b"HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\nhalf").decode()
NONSENSE = RAW(b"once upon a time\r\n\r\n").decode()
UPGRADE = RAW(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
              ).decode()

BODY = b"{}"
KIND = ("Content-Type", "application/json")  # as Gateway.begin_post() sends it

# Of the answers of upstreams: what the upstream does, and the reason.
ANSWERS = {
    "status-500": ({"status": 500}, "upstream_status"),
    "mesh-503": ({"status": 503, "headers": [["Server", "envoy"]]}, "upstream_status"),
    "rule-402": ({"status": 402}, "upstream_status"),
    "late": ({"gate": "never"}, "upstream_timeout"),
    "closed": ({"drop": "head"}, "upstream_broken"),
    "truncated": ({"raw": TRUNCATED}, "upstream_broken"),
    "nonsense": ({"raw": NONSENSE}, "upstream_broken"),
    "upgraded": ({"raw": UPGRADE}, "upgraded"),
}
# Of the ends of gateways.
DRAINED = ("drained", "abandoned")
KILLED = ("killed", "holder_gone")
EACH = 20
CONFIG = {
    "gateway": {"drain": "300ms", "metrics_records_interval": "1s"},
    "defaults": {"lease": "4s"},
    "route": [{"path": "/late", "upstream_timeout": "500ms"},
              {"path": "/rule-402", "outcome": {"402": "unknown"}}],
}


def reasons():
    """The reason of each key; the key's name begins with its way."""
    ways = {way: reason for way, (_, reason) in ANSWERS.items()}
    ways.update([DRAINED, KILLED])
    return {f"{way}-{number}": reason for way, reason in ways.items() for number in range(EACH)}


def keys_of(way):
    return [key for key in reasons() if key.rpartition("-")[0] == way]


def post_all(gateway, way, plan=None):
    return all_at_once(gateway.address, [
        request_bytes("POST", f"/{way}", [KIND] + fields_for(key, plan), BODY)
        for key in keys_of(way)])


def answer_badly(gateway):
    for way, (plan, _) in ANSWERS.items():
        assert all(answer.status >= 400 for answer in post_all(gateway, way, plan)), way


def leave_running(gateway, upstream, way, end):
    """Ends the gateway by `end` while the requests of this way are upstream."""
    running = [gateway.begin_post(f"/{way}", key=key, body=BODY, plan={"gate": "never"})
               for key in keys_of(way)]
    try:
        upstream.arrived(EACH, path=f"/{way}", timeout=30)
        assert end() in (0, -9)
    finally:
        for connection in running:
            connection.close()


def repeat_until_unknown(gateway, way):
    def unknown():
        return {answer.problem for answer in post_all(gateway, way)} == {"outcome-unknown"}
    wait_until(unknown, 30, "the end of the leases")


def by_reason(counted):
    """How many keys have each reason, of a mapping of keys."""
    return dict(collections.Counter(counted.values()))
