"""Clients of `onceguard serve`: a function behind the Python client; its work asks the service."""

import asyncio
import json
import logging
import pathlib
import sys

from chaos.clients import PATIENCE, Client, post
from support.answer import Answer
from support.gateway import Gateway
from support.toml import toml_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))
import onceguard  # noqa: E402  pylint: disable=wrong-import-position

logging.getLogger("onceguard").setLevel(logging.CRITICAL)  # it warns of each thing done here


class Decider(Gateway):
    """A process of `onceguard serve` in the place of a gateway."""

    def __init__(self, *how, **others):
        super().__init__(*how, **others)
        self.launcher = ["sh", "-c", f'exec "$0" serve --config {self.config_path}']

    def write_config(self, config):
        self.config = config
        served = {name: value for name, value in config.get("gateway", {}).items()
                  if name not in ("threads",)}
        defaults = {name: value for name, value in config.get("defaults", {}).items()
                    if name not in ("fingerprint", "fingerprint_headers", "keep",
                                    "max_answer_body")}
        self.config_path.write_text(toml_text({
            "gateway": served, "store": {"url": self.store_url(), **config.get("store", {})},
            "serve": {"listen": f"127.0.0.1:{self.port.number}"}, "defaults": defaults}))


class Caller(Client):
    """Calls under one key until it has a value; `doors` are addresses of the decision service."""

    clients = {}

    def __init__(self, key, doors, rng, service):
        super().__init__(key, doors, rng)
        self.service = service

    async def send(self, manner="plain"):
        door = self.rng.choice(self.doors())
        client = self.clients.setdefault(
            door, onceguard.Client(f"http://{door[0]}:{door[1]}", timeout=5))
        call = client.execute_async(scope="chaos", key=self.key, work=self.work,
                                    fingerprint=str(len(self.body)))
        try:
            if manner in ("leave", "reset", "half"):  # whoever waited gives up; the work goes on
                task = asyncio.ensure_future(call)
                done, _ = await asyncio.wait({task}, timeout=self.rng.random() * 0.3)
                if not done:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                    return None
                said = task.result()
            else:
                said = await asyncio.wait_for(call, PATIENCE * 2)
            self.last = Answer(status=201, body=said.encode())
        except onceguard.OnceguardError as refused:
            self.last = Answer(status=refused.status, body=json.dumps({
                "type": refused.kind, "detail": str(refused)}).encode(),
                fields=[("Content-Type", "application/problem+json")])
        except (onceguard.NotDone, Broken, asyncio.TimeoutError):
            return None
        self.settled = self.ends(self.last)
        if self.last.status == 201:
            self.answers.append(self.last)
        return self.last

    async def work(self):
        answer = await post(self.service(), self.key, self.body, self.rng)
        if answer is not None and answer.body == b"nothing was done":
            raise onceguard.NotDone()
        if answer is None or answer.status != 201:  # a proxy's 503 says nothing
            raise Broken()
        return answer.body.decode()


class Broken(Exception):
    """Nobody knows what the service did."""
