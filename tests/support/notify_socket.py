"""A service manager's end of sd_notify(3)."""

import select
import socket
import time

from support.waiting import wait_until


class NotifySocket:
    """Listens at a path, or at an abstract name."""

    def __init__(self, name):
        self.name = str(name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.name[1:] if self.name.startswith("@") else self.name)
        self.messages = []

    def close(self):
        self.socket.close()

    def read(self):
        """All messages until now, each as a dictionary."""
        while select.select([self.socket], [], [], 0)[0]:
            text = self.socket.recv(65536).decode()
            self.messages.append(dict(line.split("=", 1) for line in text.splitlines()))
        return self.messages

    def receives(self, name, count=1, timeout=20):
        """Waits for that many messages with this variable; returns their values."""
        def found():
            values = [message[name] for message in self.read() if name in message]
            return values if len(values) >= count else None
        return wait_until(found, timeout, f"{count} times {name} (received: {self.messages})")

    def silent_for(self, seconds, name):
        """Whether no message with this variable comes in that time."""
        self.read()
        before = len(self.messages)
        stop = time.monotonic() + seconds
        while (left := stop - time.monotonic()) > 0:
            if not select.select([self.socket], [], [], left)[0]:
                break
            self.read()
            if any(name in message for message in self.messages[before:]):
                return False
        return True
