"""The container image: what is in it, and a life of a gateway in it."""

import contextlib
import json
import os
import re
import socket
import stat
import subprocess

import pytest

from support.client import Connection, ask, fields_for
from support.containers import CONFIG, InNamespace, STATE, USER, make_image
from support.expecting import assert_first, assert_replay_of
from support.ports import Port
from support.waiting import wait_until

LARGEST = 60_000_000


# ---- what is in it ----------------------------------------------------------------------------

def test_two_builds_are_equal_and_a_registry_sees_the_digest_that_was_said(
        onceguard, image, tmp_path):
    old = os.umask(0o077)
    try:
        again = tmp_path / "again.tar"
        digest = make_image(onceguard, again, {"TZ": "Asia/Tokyo", "LC_ALL": "C"})
    finally:
        os.umask(old)
    assert digest == image.digest
    assert again.read_bytes() == image.file.read_bytes()
    done = subprocess.run(["skopeo", "inspect", "--no-tags", f"oci-archive:{image.file}"],
                          capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["Digest"] == image.digest
    # Another reader of images checks each layer against its digest.
    subprocess.run(["skopeo", "copy", "--insecure-policy", f"oci-archive:{image.file}",
                    f"dir:{tmp_path}/copy"], check=True, capture_output=True)


def test_it_has_one_program_and_nothing_that_its_user_could_change(image):
    paths = {entry.name: entry for entry in image.entries}
    places = ("usr/bin/", "usr/sbin/", "usr/libexec/")
    programs = [path for path in paths if path.startswith(places)]
    assert programs == ["usr/bin/onceguard"]
    assert paths["bin"].linkname == "usr/bin"
    for path, entry in paths.items():
        assert not entry.mode & (stat.S_ISUID | stat.S_ISGID), path
        mine = entry.uid == USER or entry.mode & stat.S_IWOTH
        assert not mine or entry.issym() or path in ("tmp", STATE[1:]), path
    # Scanners find each package, and whoever passes it on its licence.
    for package in [p for p in paths if p.startswith("var/lib/dpkg/status.d/")]:
        assert f"usr/share/doc/{os.path.basename(package)}/copyright" in paths
    assert "usr/share/doc/libc6/copyright" in paths
    # An engine gives a new volume the owner of the folder that it covers.
    assert image.config["Volumes"] == {STATE: {}} and paths[STATE[1:]].uid == USER
    assert image.config["User"] == f"{USER}:{USER}"


def test_it_is_small(image):
    assert sum(entry.size for entry in image.entries) <= LARGEST


STORES = ["postgresql://127.0.0.1:{port}/none", "redis://127.0.0.1:{port}",
          "rediss://127.0.0.1:{port}", "dynamodb://eu-west-1/none?endpoint=http://127.0.0.1:{port}"]


@pytest.fixture
def nobody():
    """A port where nothing listens."""
    port = Port()
    yield port.number
    port.close()


def test_it_has_the_driver_of_each_store_and_broker(image, volume, tmp_path, nobody, onceguard):
    loader = [str(image.root), "/lib64/ld-linux-x86-64.so.2", "--list"]
    # What the program loads late has its name there, once for each function.
    late = {name.decode() for name in
            re.findall(rb"\0(lib[\w+-]+\.so\.[\d.]+)(?=\0)", onceguard.read_bytes())}
    for library in ("libpq.so.5", "libcurl.so.4", "libssl.so.3", "libhiredis.so.0.14",
                    "librdkafka.so.1", "librabbitmq.so.4", *late):
        done = subprocess.run(["chroot", *loader, f"/lib/x86_64-linux-gnu/{library}"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "not found" not in done.stdout, (library, done)

    file = tmp_path / "doctor.toml"
    credentials = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    for store in STORES:
        file.write_text(f'[store]\nurl = "{store.format(port=nobody)}"\n'
                        f'[[upstream]]\nname = "shop"\nurl = "http://127.0.0.1:{nobody}"\n')
        container = InNamespace(image, volume, files={CONFIG: file}, environment=credentials)
        done = container.run("doctor", "--config", CONFIG)
        assert done.returncode == 4, (store, done)
        assert "onceguard: lib" not in done.stderr, (store, done)


# ---- its life ---------------------------------------------------------------------------------

def settings(ports, upstream):
    """What `podman run --env` says; inside a container of its own the addresses are fixed."""
    return {"ONCEGUARD_UPSTREAM": upstream, "ONCEGUARD_LISTEN": f"127.0.0.1:{ports[0]}",
            "ONCEGUARD_ADMIN": f"127.0.0.1:{ports[1]}"}


def listening(container, port):
    def ready():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        return False
    try:
        wait_until(ready, 60, "the gateway listening")
    except AssertionError:
        print(container.log())
        raise


def test_a_life(contain, own_upstream, ports, key):
    address = ("127.0.0.1", ports[0])

    def post(name, plan=None):
        return ask(address, "POST", "/charges", fields_for(name, plan), b"x")

    health = image_health(contain, ports)
    environment = settings(ports, own_upstream.url)
    assert contain(started=False, environment=environment).run(*health).returncode == 1
    container = contain(environment=environment)
    listening(container, ports[0])
    assert container.run(*health).returncode == 0
    assert container.user() == [[str(USER)] * 4] * 2
    assert "ro" in container.root_options()

    first = assert_first(post(key))
    assert_replay_of(post(key), first)

    with Connection(address) as running:
        running.send_request("POST", "/charges", fields_for("slow", {"gate": "slow"}), b"x")
        own_upstream.arrived(key="slow")
        container.terminate()
        wait_until(lambda: '"draining"' in container.log(), 60, "the drain")
        own_upstream.open("slow")
        slow = assert_first(running.read())
    assert container.wait() == 0
    assert container.run(*health).returncode != 0

    # The store is on the volume.
    another = contain(environment=environment)
    listening(another, ports[0])
    assert_replay_of(post(key), first)
    assert_replay_of(post("slow"), slow)
    assert own_upstream.effects() == {key: 1, "slow": 1}
    another.terminate()
    assert another.wait() == 0


def image_health(contain, ports):
    """The image's health check, with the address that this container has."""
    test = contain(started=False).image.config["Healthcheck"]["Test"]
    assert test[:3] == ["CMD", "/usr/bin/onceguard", "health"]
    return [word.replace("127.0.0.1:8081", f"127.0.0.1:{ports[1]}") for word in test[2:]]


def test_all_that_its_own_file_lacks_is_a_service(image, volume):
    def check(**environment):
        container = InNamespace(image, volume, environment=environment)
        done = container.run("check", "--config", CONFIG)
        return done.returncode, done.stdout + done.stderr

    code, text = check()
    assert code == 3 and "upstream" in text
    code, text = check(ONCEGUARD_UPSTREAM="http://shop:9000")
    assert code == 0 and "warning" not in text, text
