"""A queue and its dead letters on a real broker, in one form for all of them."""

import itertools
import json

import pika

from support.consumer import Stream
from support.nats import Nats
from support.rabbitmq import RabbitMQ
from support.redis import Redis

COUNTER = itertools.count()
WAIT = "1500ms"  # a broker on a busy machine may need as long for its first message


class RedisQueues(Stream):
    server_type = staticmethod(lambda: Redis({"appendonly": "yes", "appendfsync": "always"}))

    def __init__(self, server):
        super().__init__(server, f"queue-{next(COUNTER)}")
        self.tables = {"from": self.url, "dead_letter": self.dead_url}

    def box_of_short_holds(self):
        return {"dead_letter_queue": self.dead_url + "?group=onceguard-messages&hold=1s&create=yes"}

    def send(self, payload, message_id=None, headers=()):
        words = ["XADD", self.name, "*", "payload", payload]
        for name, value in ([("message_id", message_id)] if message_id else []) + list(headers):
            words += [name, value]
        assert self.command(*words).startswith(b"$")


class RabbitQueues:
    """Quorum queues, which drop a message that was given back too often."""

    server_type = RabbitMQ
    limit = 5

    def __init__(self, server):
        self.name = f"queue-{next(COUNTER)}"
        self.connection = server.connect()
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()
        for name in (self.name, self.name + ".dead"):
            self.channel.queue_declare(name, durable=True, arguments={
                "x-queue-type": "quorum", "x-delivery-limit": self.limit})
        self.tables = {"from": server.url(self.name),
                       "dead_letter": server.url(self.name + ".dead")}

    def box_of_short_holds(self):
        return {}

    def send(self, payload, message_id=None, headers=(), **more):
        self.channel.basic_publish("", self.name, payload, pika.BasicProperties(
            message_id=message_id, headers=dict(headers), delivery_mode=2, **more))


class NatsQueues:
    server_type = Nats

    def __init__(self, server):
        self.server = server
        self.name = f"queue-{next(COUNTER)}"
        for name in (self.name, self.name + "-dead"):
            server.add_stream(name)
            server.add_consumer(name, "billing")
        self.tables = {"from": f"{server.at}/{self.name}/billing",
                       "dead_letter": f"{server.at}/{self.name}-dead",
                       "dead_letter_queue": f"{server.at}/{self.name}-dead/billing"}

    def box_of_short_holds(self):
        return {}

    def send(self, payload, message_id=None, headers=()):
        ids = [("Nats-Msg-Id", message_id)] if message_id else []
        fields = ids + list(headers) or [("x", "y")]
        answer = self.server.request(self.name, payload.encode(), fields)
        assert "error" not in answer, json.dumps(answer)


KINDS = {"redis": RedisQueues, "rabbitmq": RabbitQueues, "nats": NatsQueues}


def listed(consumer, *words):
    done = consumer.command("messages", "list", "--json", "--wait", WAIT, *words)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def message(consumer, verb, *words):
    done = consumer.command("messages", verb, "--wait", WAIT, *words)
    return done.returncode, done.stdout + done.stderr
