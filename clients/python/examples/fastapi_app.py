"""FastAPI with idempotent payments.

    onceguard serve --listen unix:/tmp/onceguard.sock
    ONCEGUARD_URL=unix:/tmp/onceguard.sock PORT=8000 python3 fastapi_app.py
"""

import asyncio
import os

import conformance
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

import onceguard
import onceguard.asgi

app = FastAPI()
client = onceguard.Client(os.environ.get("ONCEGUARD_URL", "unix:/run/onceguard/serve.sock"),
                          open=os.environ.get("ONCEGUARD_OPEN") == "1")
app.add_middleware(onceguard.asgi.Middleware, client=client)


@app.post("/payments", status_code=201)
async def pay(request: Request):
    """Runs once for each Idempotency-Key; every repeat gets the first answer."""
    order = await request.json()
    run = onceguard.running()  # its token and lease, for a database that checks them
    return {"paid": order["amount"], "attempt": run.attempt if run else None}


@app.post("/report")
async def report(request: Request, size: int = 3):
    """A stream goes out as it comes; a repeat is told that its answer was not kept."""
    await work(request)

    async def lines():
        for number in range(size):
            yield f"{number}\n" * 100
    return StreamingResponse(lines(), media_type="text/plain")


@app.post("/nothing")
async def nothing(request: Request):
    """What did nothing says so, and its key is free."""
    await work(request)
    raise onceguard.NotDone("out of stock")


async def work(request):
    delay, answer = conformance.begin(request.headers)
    await asyncio.sleep(delay)
    return answer


@app.get("/conformance/runs/{counter}")
async def runs(counter: str):
    return {"runs": conformance.runs(counter)}


@app.api_route("/conformance{_:path}", methods=["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"])
async def conform(request: Request, _: str):
    answer = await work(request)
    if answer is None:
        raise RuntimeError("the work ends without an answer")
    status, fields, body = answer
    response = Response(body, status)
    for name, value in fields:
        response.headers.append(name, value)
    return response


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")), log_level="warning")
