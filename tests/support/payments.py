"""The payment servers of examples/ with the middleware in them, which tests start and kill."""

from support.client import ask
from support.example_server import ExampleServer, built_example
from support.waiting import wait_until

# Those whose names end with a database pay in a transaction of it.
IN_SQLITE = ["beast-sqlite", "httplib-sqlite", "pistache-sqlite", "restinio-sqlite"]
SERVERS = ["beast", "beast-postgres", "httplib", "pistache", "restinio", *IN_SQLITE]


def level_of(example):
    """What the server keeps of the contract: a level of the conformance kit."""
    return "transaction" if example.endswith(("-sqlite", "-postgres")) else "onceguard"


def program_of(example):
    """The built server of an example."""
    return built_example(example, f"{example.replace('-', '_')}_payments")


class PaymentServer(ExampleServer):
    """With the store or database and the further words that it is given."""

    def __init__(self, example, store, *more):
        super().__init__(program_of(example), "/payments", (store, *more))

    def pay(self, what, key=None, **how):
        fields = [("Idempotency-Key", f'"{key}"')] if key else []
        fields.append(("Authorization", "Bearer of-ada"))

        def answered():
            """None where a busy disk kept the store for longer than the server waits for it."""
            answer = ask(self.address, "POST", "/payments", fields, what, **how)
            return answer if answer.status != 503 or not key else None
        return wait_until(answered, what="a store in time")

    def payments(self):
        return ask(self.address, "GET", "/payments").body.decode().split()
