"""`onceguard serve` is shut in, and so is the process that takes its place."""

import signal

from support.decisions import DecisionService, fresh
from support.shut_in import SHUT_IN, status_of
from support.upgrading import Descendant, adopting_orphans
from support.waiting import wait_until


def test_it_decides_reloads_and_is_replaced(onceguard, tmp_path):
    with adopting_orphans():
        service = DecisionService(onceguard, tmp_path, {"gateway": {"drain": "60s"}}).start()
        try:
            with service.client() as client:
                assert client.run(key=fresh())
            assert status_of(service.process.pid) == SHUT_IN
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: service.events("reloaded"), what="the reload")
            former = service.process
            former.send_signal(signal.SIGUSR2)
            wait_until(lambda: service.events("handed-over"), 60, "the hand-over")
            service.process = Descendant(service.events("handed-over")[-1]["pid"])
            assert former.wait(60) == 0
            with service.client() as client:
                assert client.run(key=fresh())
            assert status_of(service.process.pid) == SHUT_IN
        finally:
            service.close()
