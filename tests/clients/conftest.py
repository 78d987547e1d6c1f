"""Fixtures for the tests of the clients: `onceguard serve`, and services that use it."""

import pytest

from clients.scripted_service import ScriptedService
from clients.serving import Serve, Service
from support.conformance import Kit


def closed(request, made):
    failed = request.session.testsfailed
    yield
    for program in reversed(made):
        if request.session.testsfailed > failed and program.log():
            print(f"---- log of {program.name} ----\n{program.log()[-8000:]}")
        program.close()


@pytest.fixture
def start_serve(request, onceguard, tmp_path_factory):
    """Starts `onceguard serve` for one test: start_serve({"defaults": {…}})."""
    made = []

    def start(config=None, **how):
        made.append(Serve(onceguard, tmp_path_factory.mktemp("serve"), config, **how))
        return made[-1].start()

    closing = closed(request, made)
    next(closing)
    yield start
    next(closing, None)


@pytest.fixture
def start_service(request, tmp_path_factory):
    """Starts a service for one test: start_service(command, serve, environment)."""
    made = []

    def start(command, serve, environment=None, **how):
        url = serve if isinstance(serve, str) else serve.url
        made.append(Service(command, tmp_path_factory.mktemp("service"), url, environment, **how))
        return made[-1].start()

    closing = closed(request, made)
    next(closing)
    yield start
    next(closing, None)


@pytest.fixture
def kit(onceguard):
    """The conformance kit against a URL."""
    return lambda url: Kit(onceguard, url)


@pytest.fixture
def scripted():
    """Starts a decision service that answers as the test says."""
    made = []

    def start(*script):
        made.append(ScriptedService(*script))
        return made[-1]

    yield start
    for service in made:
        service.close()
