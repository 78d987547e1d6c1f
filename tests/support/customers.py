"""Customers of a gateway whose store breaks while they are served."""

import collections
import concurrent.futures
import threading

from support.waiting import wait_until


class Customers:
    """Each asks for one key after the other, and for the same again until it is answered.

    They are patient: a settle waits for its store as long as `settle_wait` says.
    """

    PATIENCE = 120

    def __init__(self, gateway, fresh_key, count=8, plan=None):
        self.gateway, self.fresh_key, self.plan, self.count = gateway, fresh_key, plan, count
        self.answered, self.given_up, self.refusals = {}, [], []
        self.refused = collections.Counter()  # keys
        self.ending = threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(count)
        self.each = []

    def __enter__(self):
        self.each = [self.pool.submit(self._run) for _ in range(self.count)]
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.pool.shutdown()
        self._raise_what_went_wrong()

    def _raise_what_went_wrong(self):
        for one in self.each:
            if one.done():
                one.result()

    def _run(self):
        while not self.ending.is_set():
            key = self.fresh_key()
            while (answer := self._ask(key)).status != 201:
                self.refusals.append(answer)
                self.refused[key] += 1
                if self.ending.wait(0.05):
                    self.given_up.append(key)
                    return
            self.answered[key] = answer

    def _ask(self, key):
        return self.gateway.post(key=key, plan=self.plan, timeout=self.PATIENCE)

    def have_answers(self, count):
        most = len(self.answered) + count

        def enough():
            self._raise_what_went_wrong()
            return len(self.answered) >= most
        wait_until(enough, timeout=self.PATIENCE, what="more answers")
