"""A client of the Model Context Protocol: the official SDK in a process of its own."""

import itertools
import json
import pathlib
import queue
import subprocess
import threading

from support.node import NODE
from support.waiting import LONGEST

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "mcp"
REVISIONS = ("2025-11-25", "2026-07-28")


class Answer:
    """What became of an order: later, where it takes a while."""

    def __init__(self, number):
        self.number = number
        self.ready = threading.Event()
        self.value = None

    def wait(self):
        assert self.ready.wait(LONGEST), "no answer came"
        return self.value

    @property
    def result(self):
        value = self.wait()
        assert "result" in value, value
        return value["result"]

    @property
    def repeated(self):
        """The result of a repeat, without the mark that says so."""
        result = dict(self.result)
        meta = dict(result.pop("_meta"))
        assert meta.pop("onceguard/replayed") is True
        return {**result, "_meta": meta} if meta else result

    @property
    def text(self):
        return self.result["content"][0]["text"]


class ToolClient:
    def __init__(self, revision, command, folder, environment):
        self.numbers = itertools.count(1)
        self.answers = {}
        self.events = queue.Queue()
        self.process = subprocess.Popen([NODE, str(FOLDER / "client.mjs"), revision, *command],
                                        cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @staticmethod
    def server(revision, *more):
        return [NODE, str(FOLDER / "server.mjs"), revision, *map(str, more)]

    def _read(self):
        for line in self.process.stdout:
            value = json.loads(line)
            if "order" in value:
                answer = self.answers.pop(value["order"])
                answer.value = value
                answer.ready.set()
            else:
                self.events.put(value)

    def wait_connected(self):
        assert self.events.get(timeout=LONGEST) == {"connected": True}
        return self

    def wait_closed(self):
        assert self.events.get(timeout=LONGEST) == {"closed": True}

    def order(self, **what):
        number = next(self.numbers)
        self.answers[number] = answer = Answer(number)
        self.process.stdin.write(json.dumps({"order": number, **what}) + "\n")
        self.process.stdin.flush()
        return answer

    def call(self, tool, key=None, meta=None, arguments=None, **more):
        arguments = dict(arguments or {})
        if key is not None:
            arguments["idempotency_key"] = key
        if meta is not None:
            more["meta"] = meta
        return self.order(call=tool, arguments=arguments, **more)

    def kill(self):
        self.process.kill()
        self.process.wait()
