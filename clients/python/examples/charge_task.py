"""A task that a queue may deliver more than once, and that charges once.

    ONCEGUARD_URL=unix:/tmp/onceguard.sock python3 charge_task.py order-17 1000

With Celery the decorator stands below @app.task(acks_late=True); onceguard.TryLater and Busy are
what autoretry_for takes.
"""

import os
import sys

import conformance

import onceguard

client = onceguard.Client(os.environ.get("ONCEGUARD_URL", "unix:/run/onceguard/serve.sock"))


@client.once(scope="shop", key=lambda order, amount: order)
def charge(order, amount):
    delay, _ = conformance.begin({"Conformance-Counter": order})
    return {"charged": amount, "attempt": onceguard.running().attempt}


if __name__ == "__main__":
    print(charge(sys.argv[1], int(sys.argv[2])))
