"""Flask with idempotent payments.

    onceguard serve --listen unix:/tmp/onceguard.sock
    ONCEGUARD_URL=unix:/tmp/onceguard.sock gunicorn -w 2 --threads 8 flask_app:app
"""

import os
import time

import conformance
from flask import Flask, Response, jsonify, request

import onceguard
import onceguard.wsgi

app = Flask(__name__)
client = onceguard.Client(os.environ.get("ONCEGUARD_URL", "unix:/run/onceguard/serve.sock"),
                          open=os.environ.get("ONCEGUARD_OPEN") == "1")
app.wsgi_app = onceguard.wsgi.Middleware(app.wsgi_app, client)
METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


@app.post("/payments")
def pay():
    """Runs once for each Idempotency-Key; every repeat gets the first answer."""
    run = onceguard.running()  # its token and lease, for a database that checks them
    paid = request.get_json()["amount"]
    return jsonify(paid=paid, attempt=run.attempt if run else None), 201


@app.errorhandler(onceguard.NotDone)
def not_done(_):
    """Flask makes an answer of every exception. This one says that nothing was done."""
    return jsonify(error="out of stock"), 503


@app.post("/nothing")
def nothing():
    work()
    raise onceguard.NotDone("out of stock")


@app.post("/report")
def report():
    """A stream goes out as it comes; a repeat is told that its answer was not kept."""
    work()
    size = int(request.args.get("size", "3"))
    return Response((f"{number}\n" * 100 for number in range(size)), mimetype="text/plain")


def work():
    delay, answer = conformance.begin(request.headers)
    time.sleep(delay)
    return answer


@app.get("/conformance/runs/<counter>")
def runs(counter):
    return jsonify(runs=conformance.runs(counter))


@app.route("/conformance", methods=METHODS)
@app.route("/conformance/", methods=METHODS)
@app.route("/conformance/<path:_>", methods=METHODS)
def conform(_=None):
    answer = work()
    if answer is None:
        raise RuntimeError("the work ends without an answer")
    status, fields, body = answer
    response = Response(body, status, content_type=None)
    response.headers.clear()
    for name, value in fields:
        response.headers.add(name, value)
    return response


if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "8000")), threaded=True)
