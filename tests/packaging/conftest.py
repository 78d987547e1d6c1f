"""Fixtures of the packaging suites: the image, and what runs it."""

import os

import pytest

from support.charts import Chart
from support.containers import Image, InNamespace, InPodman, Podman, USER
from support.ports import Port


@pytest.fixture(scope="module")
def image(onceguard, tmp_path_factory):
    return Image(onceguard, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def podman(image, tmp_path_factory):
    running = Podman(image, tmp_path_factory.mktemp("podman"))
    yield running
    running.close()


@pytest.fixture(scope="module", params=["podman", "namespace"])
def runner(request, image):
    """Runs the image by podman and, as not every kernel lets it, without; both always once."""
    if request.param == "namespace":
        return lambda *arguments, **how: InNamespace(image, *arguments, **how)
    podman = request.getfixturevalue("podman")
    if podman.complaint:
        print(f"podman can't run here, so namespaces do: {podman.complaint}")
        return lambda *arguments, **how: InNamespace(image, *arguments, **how)
    return lambda *arguments, **how: InPodman(podman, image, *arguments, **how)


@pytest.fixture
def volume(tmp_path):
    """An empty volume, as a container engine gives it to the user of the image."""
    made = tmp_path / "volume"
    made.mkdir(mode=0o700)
    os.chown(made, USER, USER)
    return made


@pytest.fixture
def contain(runner, volume):
    """Starts containers on one volume, one after the other."""
    made = []

    def start(started=True, **how):
        made.append(runner(volume, **how))
        return made[-1].start() if started else made[-1]

    yield start
    for container in made:
        container.close()


@pytest.fixture
def ports():
    """Two, for requests and for the admin listener."""
    made = Port(), Port()
    yield [port.number for port in made]
    for port in made:
        port.close()


@pytest.fixture(scope="module")
def render(tmp_path_factory):
    return Chart(tmp_path_factory.mktemp("chart"))
