"""A shop whose charge and whose word to Onceguard commit together: exactly once.

    onceguard migrate --store postgresql:///shop
    DATABASE_URL=postgresql:///shop PORT=9000 python3 app.py
    onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000 \
        --store postgresql:///shop --effect transactional
"""

import json
import os

import psycopg
from flask import Flask, Response, jsonify, request

app = Flask(__name__)
DATABASE = os.environ.get("DATABASE_URL", "postgresql:///shop")


@app.post("/charges")
def charge():
    order = request.get_json()
    amount = order.get("amount")
    if not isinstance(amount, int) or amount <= 0:
        return jsonify(error="amount must be a positive whole number of cents"), 400
    with psycopg.connect(DATABASE) as shop:  # one transaction: all of it, or nothing
        number = shop.execute("INSERT INTO charges (amount, card) VALUES (%s, %s) RETURNING id",
                              (amount, order.get("card"))).fetchone()[0]
        headers = [["Content-Type", "application/json"], ["Location", f"/charges/{number}"]]
        body = json.dumps({"id": number, "amount": amount, "card": order.get("card")}).encode()
        shop.execute("SELECT onceguard.complete(%s, %s, %s, %s)",
                     (request.headers["Onceguard-Lease"], 201, headers, body))
    return Response(body, 201, headers)


@app.get("/charges")
def charges():
    with psycopg.connect(DATABASE) as shop:
        rows = shop.execute("SELECT id, amount, card FROM charges ORDER BY id").fetchall()
    ledger = [dict(zip(("id", "amount", "card"), row)) for row in rows]
    return jsonify(count=len(ledger), charges=ledger)


if __name__ == "__main__":
    with psycopg.connect(DATABASE) as own:
        own.execute("CREATE TABLE IF NOT EXISTS charges (id integer PRIMARY KEY GENERATED ALWAYS "
                    "AS IDENTITY, amount integer NOT NULL, card text)")
    app.run(host="127.0.0.1", port=int(os.environ.get("PORT", "9000")))
