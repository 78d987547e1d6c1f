"""A shop that charges cards and writes each charge into its ledger.

It knows nothing of Onceguard, and nothing of retries: every POST that arrives is a charge.

    PORT=9000 python3 app.py
    onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000
"""

import os
import threading

from flask import Flask, jsonify, request

app = Flask(__name__)
ledger = []
lock = threading.Lock()


@app.post("/charges")
def charge():
    order = request.get_json()
    amount = order.get("amount")
    if not isinstance(amount, int) or amount <= 0:
        return jsonify(error="amount must be a positive whole number of cents"), 400
    with lock:
        made = {"id": len(ledger) + 1, "amount": amount, "card": order.get("card")}
        ledger.append(made)
    return jsonify(made), 201, {"Location": f"/charges/{made['id']}"}


@app.get("/charges")
def charges():
    return jsonify(count=len(ledger), charges=ledger)


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(os.environ.get("PORT", "9000")))
