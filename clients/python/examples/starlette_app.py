"""Starlette with idempotent requests: `PORT=8000 python3 starlette_app.py`."""

import asyncio
import os

import conformance
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import onceguard
import onceguard.asgi


async def runs(request):
    return JSONResponse({"runs": conformance.runs(request.path_params["counter"])})


async def conform(request):
    delay, answer = conformance.begin(request.headers)
    await asyncio.sleep(delay)
    if answer is None:
        raise RuntimeError("the work ends without an answer")
    status, fields, body = answer
    response = Response(body, status)
    for name, value in fields:
        response.headers.append(name, value)
    return response


client = onceguard.Client(os.environ.get("ONCEGUARD_URL", "unix:/run/onceguard/serve.sock"),
                          open=os.environ.get("ONCEGUARD_OPEN") == "1")
app = Starlette(
    routes=[Route("/conformance/runs/{counter}", runs),
            Route("/conformance{_:path}", conform,
                  methods=["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"])],
    middleware=[Middleware(onceguard.asgi.Middleware, client=client)])

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")), log_level="warning")
