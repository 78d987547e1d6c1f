"""Django with idempotent payments, in one file, under WSGI and ASGI.

    ONCEGUARD_URL=unix:/tmp/onceguard.sock gunicorn -w 2 --threads 8 django_app:wsgi
    ONCEGUARD_URL=unix:/tmp/onceguard.sock uvicorn django_app:asgi
"""

import asyncio
import json
import os
import sys

import conformance
import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse, StreamingHttpResponse
from django.urls import path, re_path

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="an example has no secrets",
    MIDDLEWARE=["onceguard.django.middleware", "django.middleware.common.CommonMiddleware"],
    ONCEGUARD={"url": os.environ.get("ONCEGUARD_URL", "unix:/run/onceguard/serve.sock"),
               "open": os.environ.get("ONCEGUARD_OPEN") == "1"})
django.setup()

import onceguard  # noqa: E402
import onceguard.django  # noqa: E402


def pay(request):
    """Runs once for each Idempotency-Key; every repeat gets the first answer."""
    run = request.onceguard  # its token and lease, for a database that checks them
    paid = json.loads(request.body)["amount"]
    return JsonResponse({"paid": paid, "attempt": run.attempt if run else None}, status=201)


def nothing(request):
    """What did nothing says so, and its key is free."""
    conformance.begin(request.headers)
    raise onceguard.NotDone("out of stock")


def report(request):
    """A stream goes out as it comes; a repeat is told that its answer was not kept."""
    conformance.begin(request.headers)
    size = int(request.GET.get("size", "3"))
    return StreamingHttpResponse((f"{number}\n" * 100 for number in range(size)), "text/plain")


def runs(_, counter):
    return JsonResponse({"runs": conformance.runs(counter)})


async def conform(request, _):
    delay, answer = conformance.begin(request.headers)
    await asyncio.sleep(delay)
    if answer is None:
        raise RuntimeError("the work ends without an answer")
    return onceguard.django.Reply(onceguard.Answer(*answer))


urlpatterns = [path("payments", pay), path("nothing", nothing), path("report", report),
               path("conformance/runs/<counter>", runs), re_path("^conformance(.*)$", conform)]
wsgi, asgi = get_wsgi_application(), get_asgi_application()

if __name__ == "__main__":
    port = os.environ.get("PORT", "8000")
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", f"127.0.0.1:{port}"])
