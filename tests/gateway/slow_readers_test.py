"""Clients that ran something and do not read the answer: what they hold has a bound."""

import contextlib

from support.client import fields_for
from support.waiting import wait_until

MIB = 1 << 20


def gauge(listener, name):
    lines = listener.get("/metrics").body.decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def test_first_answers_that_nobody_reads_stay_within_the_bound(start_gateway, upstream, fresh_key,
                                                               admin_listener):
    """All at once, after short ones: the room for them was not known when they began to run."""
    bound = 4 * MIB
    gateway = start_gateway(upstream, {"store": {"timeout": "30s"}, "gateway": {
        "replay_cache": "0", "threads": 1, "max_buffered": "4MiB", "admin": admin_listener.text}})
    gate = fresh_key()
    keys = [fresh_key() for _ in range(12)]
    most = 0
    with contextlib.ExitStack() as held:
        for key in keys:
            connection = held.enter_context(gateway.connect(receive_buffer=4096))
            fields = fields_for(key, {"gate": gate, "size": MIB})
            connection.send_request("POST", "/charges", fields, b"x")
            wait_until(lambda key=key: upstream.runs(key))
        upstream.open(gate)

        def settled():
            nonlocal most
            most = max(most, gauge(admin_listener, "onceguard_buffered_bytes"))
            return gauge(admin_listener, "onceguard_leases_held") == 0
        wait_until(settled, 60)
        assert most <= bound + 256 * 1024
    for key in keys:
        again = wait_until(lambda key=key: next(
            (a for a in [gateway.post(key=key, body=b"x", content_type=None)]
             if a.status != 503), None))
        assert again.replayed and len(again.body) == MIB, again
        assert upstream.runs(key) == 1
