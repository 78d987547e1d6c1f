"""An upgrade of `onceguard serve` amid the requests of a service that uses it."""

import json
import signal

from clients.serving import answered
from support.client import all_at_once, request_bytes
from support.upgrading import Descendant, adopting_orphans
from support.waiting import Stopwatch, wait_until

CONFIG = {"gateway": {"drain": "60s"}, "log": {"format": "json"}}


def successor(serve):
    """The number of the process that has taken over."""
    lines = [json.loads(line) for line in serve.log().splitlines() if line.startswith("{")]
    return next((line["pid"] for line in lines if line["event"] == "handed-over"), None)


def answers_through_an_upgrade(serve, service, fresh_key):
    """While one operation goes on at the former process, none of the others fails."""
    def together():
        requests = [request_bytes("POST", "/conformance", service.fields(fresh_key()), b"{}")
                    for _ in range(8)]
        return [answer.status for answer in all_at_once(service.address, requests)]

    with adopting_orphans():
        assert set(together()) == {201}, "and now it has connections that it keeps"
        key, former, clock = fresh_key(), serve.process, Stopwatch()
        long = service.begin_work(key, {"delay": 4000})
        serve.signal(signal.SIGUSR2)
        during = []

        def handed_over():
            during.append(service.post(fresh_key()).status)
            return successor(serve)

        def waits():  # the long one ends no earlier than that
            return former.poll() is None or clock.seconds > 4

        serve.process = Descendant(wait_until(handed_over, 60, "the hand-over"))
        assert waits(), "for the long one"
        for _ in range(3):
            during += together()
            assert waits(), "for the long one"
        during += [service.post(fresh_key()).status for _ in range(10)]
        assert set(during) == {201}
        assert waits(), "for the long one"
        assert answered(long).status == 201
        assert former.wait(60) == 0
        again = service.post(key, {"delay": 4000})
        assert (again.status, again.replayed, service.effects()[key]) == (201, True, 1)
        serve.stop()
