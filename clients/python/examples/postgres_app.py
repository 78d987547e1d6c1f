"""A payment whose effect and whose record commit together, in PostgreSQL: exactly once.

    onceguard serve --listen unix:/tmp/onceguard.sock --store postgresql:///shop \
        --effect transactional --lease 5s --upstream-timeout 5s
    DATABASE_URL=postgresql:///shop ONCEGUARD_URL=unix:/tmp/onceguard.sock PORT=8000 \
        python3 postgres_app.py

Nobody renews the lease of such a payment, as that would write the row that the payment writes: it
lasts for `upstream_timeout`, and a payment whose service has died is free again after that.
"""

import os
import time

import conformance
import psycopg
from flask import Flask, Response, jsonify, request

import onceguard
import onceguard.wsgi

app = Flask(__name__)
DATABASE = os.environ.get("DATABASE_URL", "postgresql:///shop")
client = onceguard.Client(os.environ.get("ONCEGUARD_URL", "unix:/run/onceguard/serve.sock"))
app.wsgi_app = onceguard.wsgi.Middleware(app.wsgi_app, client)


@app.post("/payments")
def pay():
    """An attempt that was superseded can't commit: its `complete` raises."""
    delay, _ = conformance.begin(request.headers)
    with psycopg.connect(DATABASE) as shop:  # one transaction: all of it, or nothing
        number = shop.execute("INSERT INTO payments (what) VALUES (%s) RETURNING id",
                              (request.headers["Conformance-Counter"],)).fetchone()[0]
        time.sleep(delay)
        headers, body = [["Content-Type", "text/plain"]], f"payment {number}".encode()
        run = onceguard.running()
        if run:
            shop.execute("SELECT onceguard.complete(%s, 201, %s, %s)", (run.lease, headers, body))
    return Response(body, 201, headers)


@app.get("/payments")
def payments():
    with psycopg.connect(DATABASE) as shop:
        return jsonify([what for what, in shop.execute("SELECT what FROM payments ORDER BY id")])


if __name__ == "__main__":
    with psycopg.connect(DATABASE) as own:
        own.execute("CREATE TABLE IF NOT EXISTS payments (id integer PRIMARY KEY GENERATED ALWAYS "
                    "AS IDENTITY, what text)")
    app.run(port=int(os.environ.get("PORT", "8000")), threaded=True)
