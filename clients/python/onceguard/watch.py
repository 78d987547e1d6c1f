"""Sees that the connection of a lease has ended amid its work, as when the service is restarted,
and binds the lease to a new one. No lease is kept by a timer here: the service renews it."""

from __future__ import annotations

import dataclasses
import threading
import time
import weakref
from typing import Any, Optional

from . import connections
from .errors import OnceguardError, ServiceAway

LOOKS = 0.5  # seconds from one look to the next


class Watch:
    """Looks after the runs of one client, from a thread of its own that the first run starts."""

    def __init__(self, calls: Any) -> None:
        self.calls = weakref.ref(calls)
        self.forget()
        connections.PLACES.add(self)

    def forget(self) -> None:
        self.runs: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self.lock = threading.Lock()
        self.thread: Optional[threading.Thread] = None

    def add(self, run: Any) -> None:
        self.runs.add(run)
        if self.thread is None:
            with self.lock:
                if self.thread is None:
                    self.thread = threading.Thread(target=look_after, args=(weakref.ref(self),),
                                                   name="onceguard", daemon=True)
                    self.thread.start()

    def remove(self, run: Any) -> None:
        """The run is being settled, on any connection."""
        self.runs.discard(run)
        stream, run.rebound = run.rebound, None
        if stream is not None:
            stream.close()

    def look(self, calls: Any) -> None:
        try:
            runs = list(self.runs)
        except RuntimeError:  # runs came and went meanwhile: at the next look
            return
        for run in runs:
            held = run.rebound or run.stream
            if held is None or not held.ended() or run not in self.runs:
                continue
            stream = self.renew(calls, run)
            if stream is not None:
                run.rebound = stream
                if run not in self.runs:  # it was settled meanwhile
                    self.remove(run)

    def renew(self, calls: Any, run: Any) -> Any:
        """A connection to which the service has bound the lease; None: there is none yet."""
        bound = dataclasses.replace(run, stream=None, rebound=None)
        try:
            if calls.settle(bound, "renew").outcome == "renewed":
                return bound.stream
            bound.stream.close()
        except ServiceAway:
            return None
        except OnceguardError:
            pass
        self.runs.discard(run)  # another attempt has the record, or it was settled
        return None


def look_after(watch: "weakref.ref[Watch]") -> None:
    while True:
        time.sleep(LOOKS)
        at = watch()
        calls = at and at.calls()
        if not at or calls is None or at.thread is not threading.current_thread():
            return
        at.look(calls)
        del at, calls
