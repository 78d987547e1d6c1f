"""Charges once for each key, however often it is asked:

    echo "customer-7 order-17 1000" | DATABASE_URL=postgresql:///shop python3 payment.py

The table: CREATE TABLE charges (customer text, amount integer)
"""

import json
import os
import sys

import psycopg


def charge(database, customer, key, amount):
    """The answer of the charge, the same at each try. The transaction is the whole of it."""
    with database.transaction():
        verdict, lease, body = database.execute(
            "SELECT verdict, lease, body FROM onceguard.claim(%s, %s, %s, wait => true)",
            (customer, key, str(amount).encode())).fetchone()
        if verdict == "replay":
            return bytes(body).decode()
        if verdict != "run":
            raise RuntimeError(f"not charged: {verdict}")
        database.execute("INSERT INTO charges (customer, amount) VALUES (%s, %s)",
                         (customer, amount))
        answer = json.dumps({"charged": amount})
        database.execute("SELECT onceguard.complete(%s, 201, body => %s)",
                         (lease, answer.encode()))
    return answer


if __name__ == "__main__":
    with psycopg.connect(os.environ.get("DATABASE_URL", "postgresql:///shop"),
                         autocommit=True) as shop:
        for line in sys.stdin:
            who, order, cents = line.split()
            try:
                print(charge(shop, who, order, int(cents)), flush=True)
            except RuntimeError as refused:
                print(refused, flush=True)
