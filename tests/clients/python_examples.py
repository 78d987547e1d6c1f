"""The examples of the Python client, under the servers that people run them with."""

import contextlib
import os
import pathlib
import signal

import pytest

from clients.serving import Serve, Service, amid_kills, share_of_kills
from support.waiting import wait_until

CLIENT = pathlib.Path(__file__).resolve().parents[2] / "clients/python"
EXAMPLES = CLIENT / "examples"
PYTHON = "/usr/bin/python3"
GUNICORN = f"exec {PYTHON} -m gunicorn --chdir {EXAMPLES} -b 127.0.0.1:$PORT"
UVICORN = f"exec {PYTHON} -m uvicorn --app-dir {EXAMPLES} --port $PORT --log-level warning"
SERVERS = {
    "fastapi": [PYTHON, EXAMPLES / "fastapi_app.py"],
    "starlette": [PYTHON, EXAMPLES / "starlette_app.py"],
    "flask": [PYTHON, EXAMPLES / "flask_app.py"],
    "fastapi-gunicorn": ["sh", "-c", f"{GUNICORN} -w 2 -k uvicorn.workers.UvicornWorker "
                                     "fastapi_app:app"],
    "flask-gunicorn": ["sh", "-c", f"{GUNICORN} -w 2 --threads 12 flask_app:app"],
    "django-gunicorn": ["sh", "-c", f"{GUNICORN} -w 2 --threads 12 django_app:wsgi"],
    "django-uvicorn": ["sh", "-c", f"{UVICORN} django_app:asgi"]}
ENVIRONMENT = {"PYTHONPATH": str(CLIENT), "PYTHONDONTWRITEBYTECODE": "1"}
QUICK = ("--jobs", "4", "--long-work", "2")
LEASE = 2
CONFIG = {"defaults": {"lease": f"{LEASE}s"}}


def workers(service):
    """The processes that the service has forked."""
    number = service.process.pid
    return pathlib.Path(f"/proc/{number}/task/{number}/children").read_text().split()


def lives(number):
    """Whether this process still runs. One that nobody has waited for yet holds nothing, once its
    other threads have ended, too: they share its sockets."""
    try:
        stat = pathlib.Path(f"/proc/{number}/stat").read_text()
        threads = os.listdir(f"/proc/{number}/task")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return len(threads) > 1 or stat.rpartition(")")[2].split()[0] not in "ZX"


class WithWorkers:
    """A service that is killed with its workers, which outlive gunicorn's master otherwise."""

    def __init__(self, service):
        self.service = service
        self.start = service.start

    def kill(self):
        numbers = workers(self.service)
        self.service.kill()
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)
        wait_until(lambda: not any(map(lives, numbers)), what="the end of the workers")


class Examples:
    """Examples beside one `onceguard serve`, each started when it is asked for first."""

    def __init__(self, binary, folders, config):
        self.folders, self.services = folders, {}
        self.serve = Serve(binary, folders.mktemp("serve"), config)
        self.serve.start()

    def service(self, name):
        if name not in self.services:
            made = Service(SERVERS[name], self.folders.mktemp("service"), self.serve.url,
                           ENVIRONMENT)
            self.services[name] = made
            made.start()
        return self.services[name]

    def close(self):
        for service in self.services.values():
            if service.process:
                WithWorkers(service).kill()
            service.close()
        self.serve.close()


@pytest.fixture
def start_example(start_service):
    """Starts an example by its name in SERVERS."""
    made = []

    def start(name, serve, environment=None, **how):
        more = {**ENVIRONMENT, **(environment or {})}
        made.append(start_service(SERVERS[name], serve, more, **how))
        return made[-1]
    yield start
    for service in made:
        if service.process:
            WithWorkers(service).kill()


@pytest.fixture(params=["fastapi", "flask-gunicorn", "django-gunicorn"])
def name(request):
    """One of each kind of middleware."""
    return request.param


def survives_kills(name, victim, start_serve, start_example, fresh_key):
    """Kills the service or its `onceguard serve` amid requests: none of them runs twice."""
    serve = start_serve(CONFIG)
    example = start_example(name, serve)
    killed = serve if victim == "serve" else WithWorkers(example)
    amid_kills(killed, example, share_of_kills(200), fresh_key, in_time=LEASE + 20)
