"""The compose file: its form, and what it starts, with other addresses."""

import os
import subprocess

import pytest
import yaml

from support.client import ask, fields_for
from support.expecting import assert_first, assert_replay_of
from support.gateway import clean_environment
from support.node import TESTS
from support.waiting import wait_until

FOLDER = TESTS.parent / "packaging/compose"


def compose(*arguments, **environment):
    return subprocess.run(["docker-compose", *arguments], cwd=FOLDER, capture_output=True,
                          text=True, check=False, env=clean_environment() | environment)


@pytest.fixture(scope="module")
def services():
    done = compose("config", POSTGRES_PASSWORD="secret")
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)["services"]


def seconds(text):
    """As compose writes a duration."""
    minutes, _, rest = text.rpartition("m")
    return 60 * int(minutes or 0) + int(rest.removesuffix("s") or 0)


def test_a_password_has_to_be_chosen():
    assert not (FOLDER / ".env").exists()
    done = compose("config")
    assert done.returncode != 0
    assert "write it into .env" in done.stderr


def test_the_service_is_reached_by_nobody_but_the_gateway(services):
    whole = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert whole["networks"]["inner"] == {"internal": True}
    for name in ("shop", "postgres", "migrate"):
        assert "ports" not in services[name]
        assert list(services[name]["networks"]) == ["inner"]
    # On this machine alone: whoever publishes it further decides that.
    assert services["gateway"]["ports"][0].startswith("127.0.0.1:")


def test_the_gateway_is_confined_and_has_time_to_finish(services, image):
    gateway = services["gateway"]
    assert gateway["image"] == services["migrate"]["image"] == image.name
    assert gateway["read_only"] and gateway["cap_drop"] == ["ALL"]
    assert seconds(gateway["stop_grace_period"]) > 60  # of the drain
    assert gateway["healthcheck"]["test"] == image.config["Healthcheck"]["Test"]
    for name, service in services.items():
        assert name == "migrate" or service["healthcheck"]
    assert gateway["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def test_what_it_starts_works(services, contain, own_upstream, postgres_server, ports, tmp_path,
                              key):
    """Its commands, files and variables, with this machine's addresses in place of names."""
    database = postgres_server.create_database()
    url = services["gateway"]["environment"]["ONCEGUARD_STORE"]
    assert url == "postgresql://onceguard:secret@postgres/onceguard"
    store = {"ONCEGUARD_STORE": postgres_server.url(database)}
    migrated = contain(started=False, environment=store).run(*services["migrate"]["command"])
    assert migrated.returncode == 0, migrated

    (file,) = [path.split(":") for path in services["gateway"]["volumes"] if ".toml" in path]
    assert os.path.samefile(file[0], FOLDER / "onceguard.toml") and file[2] == "ro"
    text = (FOLDER / "onceguard.toml").read_text()
    own = tmp_path / "onceguard.toml"
    own.write_text(text.replace("http://shop:9000", own_upstream.url)
                   .replace("0.0.0.0:8080", f"127.0.0.1:{ports[0]}")
                   .replace("127.0.0.1:8081", f"127.0.0.1:{ports[1]}"))
    gateway = contain(environment=store, files={file[1]: own})
    health = [word.replace("127.0.0.1:8081", f"127.0.0.1:{ports[1]}")
              for word in services["gateway"]["healthcheck"]["test"][2:]]
    wait_until(lambda: gateway.run(*health).returncode == 0, 60, "the gateway being healthy")

    def post(name):
        return ask(("127.0.0.1", ports[0]), "POST", "/charges", fields_for(name), b"x")

    first = assert_first(post(key))
    assert_replay_of(post(key), first)
    assert post(None).status == 400
    checked = gateway.run("check", "--config", file[1])
    assert checked.returncode == 0 and "warning" not in checked.stdout + checked.stderr, checked
    gateway.terminate()
    assert gateway.wait() == 0
    assert own_upstream.effects() == {key: 1}
