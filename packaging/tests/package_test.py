"""The Debian packages on a fresh Debian 12. Needs root; `./dev package --test` runs it.

ONCEGUARD_PACKAGES is the folder with the packages, ONCEGUARD_PACKAGES_AGAIN that of a second build
of the same commit.
"""

import hashlib
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest

from debian import PACKAGES, ROOT, package, raised

AGAIN = pathlib.Path(os.environ.get("ONCEGUARD_PACKAGES_AGAIN") or ROOT / "build/package-again")
CONFIGURATION = "/etc/onceguard/onceguard.toml"
KEYS = "/var/lib/onceguard/keys.db"
FIRST, REPEAT = [201, "charge 1", None], [201, "charge 1", "true"]


def test_the_base_install_is_small(fresh, base):
    before, after = fresh.installed(), base.installed()
    added = {name: size for name, size in after.items() if name not in before}
    print(f"{sum(added.values())} KiB:", added)
    assert sum(added.values()) < 40 * 1024
    few = re.compile(r"lib(rdkafka|curl|pq|nats|rabbitmq|hiredis)|systemd$")
    assert not [name for name in added if few.match(name)]


def test_the_first_request_runs_and_its_repeat_does_not(machine):
    said = machine.serve("order-17")
    assert said["answers"] == [[FIRST, REPEAT]], said["log"]
    assert (said["charges"], said["exit"]) == (1, 0)
    kept = machine.path(KEYS).stat()
    owner = machine.run("stat", "-c", "%U", KEYS).stdout.strip()
    assert (owner, kept.st_mode & 0o077) == ("onceguard", 0)


@pytest.mark.parametrize("url,missing", [
    ("postgresql://db/keys", "libpq5"), ("redis://cache", r"libhiredis\S+"),
    ("dynamodb://eu-central-1/keys", "libcurl4")])
def test_a_missing_driver_of_a_store_is_named_with_its_package(base, url, missing):
    done = base.run("onceguard", "stats", "--store", url, check=False)
    assert done.returncode == 3
    assert re.search(rf"--store: url: .*cannot open shared object file.*: apt install {missing}\n",
                     done.stderr), done.stderr


@pytest.mark.parametrize("url,missing", [
    ("kafka://broker/orders?group=g", "librdkafka1"), ("amqp://broker/orders", "librabbitmq4"),
    ("nats://broker/ORDERS/billing", r"libnats\S+"), ("sqs://eu-central-1/orders", r"libcurl4"),
    ("postgresql://db/shop?queue=orders", "libpq5"),
    ("redis://cache/orders?group=g", r"libhiredis\S+")])
def test_a_missing_driver_of_a_broker_is_named_with_its_package_and_place(machine, url, missing):
    machine.path("/srv/consume.toml").write_text(
        f'[store]\nurl = "memory:"\n[[consume]]\nsubscriber = "billing"\nfrom = "{url}"\n'
        'to = "http://127.0.0.1:9000/events"\n')
    for command in ("check", "consume"):
        done = machine.run("onceguard", command, "--config", "/srv/consume.toml", check=False)
        assert done.returncode == 3
        assert re.search(rf"consume.toml:5:\d+: .*: apt install {missing}\n", done.stderr), \
            done.stderr


def test_a_driver_that_is_installed_is_used(machine):
    machine.apt("install", "--no-install-recommends", "libpq5")
    done = machine.run("onceguard", "stats", "--store", "postgresql://127.0.0.1:1/keys",
                       check=False)
    assert done.returncode == 4, done.stderr
    assert "apt install" not in done.stderr


def test_an_upgrade_keeps_the_keys_and_the_changed_configuration(machine, tmp_path):
    assert machine.serve("order-17")["answers"] == [[FIRST, REPEAT]]
    changed = machine.path(CONFIGURATION).read_text() + '\n[defaults]\nretention = "48h"\n'
    machine.path(CONFIGURATION).write_text(changed)
    machine.install(raised(package("onceguard"), tmp_path, "99.0-1"))
    assert "99.0-1" in machine.run("dpkg-query", "-W", "onceguard").stdout
    assert machine.path(CONFIGURATION).read_text() == changed
    said = machine.serve("order-17", "order-18")
    assert said["answers"] == [[REPEAT, REPEAT], [FIRST, REPEAT]], said["log"]
    assert said["charges"] == 1


def test_a_downgrade_refuses_the_keys_of_a_newer_version_and_says_so(machine, tmp_path):
    machine.serve("order-17")
    machine.install(raised(package("onceguard"), tmp_path, "99.0-1"))
    # What a newer version does to the file at its first start: it raises the number of the schema.
    with sqlite3.connect(machine.path(KEYS)) as keys:
        [schema] = keys.execute("PRAGMA user_version").fetchone()
        keys.execute(f"PRAGMA user_version = {schema + 1}")
    keys.close()
    machine.install(package("onceguard"), only=("--allow-downgrades",))
    assert "99.0-1" not in machine.run("dpkg-query", "-W", "onceguard").stdout
    said = machine.serve("order-17")
    assert said["charges"] == 0
    assert "was written by a newer version of onceguard" in said["log"]
    done = machine.run("onceguard", "stats", "--config", CONFIGURATION, check=False)
    assert done.returncode != 0
    assert "was written by a newer version of onceguard" in done.stderr


def test_a_removal_keeps_the_keys_and_a_purge_leaves_nothing(fresh, machine):
    machine.serve("order-17")
    machine.apt("remove", "onceguard")
    assert machine.path(KEYS).exists() and machine.path(CONFIGURATION).exists()
    machine.apt("purge", "onceguard")
    left = {name for name in machine.files() - fresh.files() if "onceguard" in name}
    assert left == set()
    # The user stays, without a shell: its number must not become somebody else's.
    assert "/usr/sbin/nologin" in machine.run("getent", "passwd", "onceguard").stdout


def test_pages_and_completions_are_installed(base):
    listed = base.run("dpkg-query", "-L", "onceguard").stdout.splitlines()
    commands = re.findall(r"^  (\w+)  ", base.run("onceguard", "--help").stdout, re.M)
    assert {"gateway", "consume", "exec", "keys"} <= set(commands)
    for name in commands:
        assert f"/usr/share/man/man1/onceguard-{name}.1.gz" in listed
    assert "/usr/share/man/man5/onceguard.toml.5.gz" in listed
    for file in ("bash-completion/completions/onceguard", "zsh/vendor-completions/_onceguard",
                 "fish/vendor_completions.d/onceguard.fish"):
        assert f"/usr/share/{file}" in listed


# The licence is in /usr/share/doc/*/copyright, the headers are in libonceguard-dev, and who reads
# about sources has them.
ELSEWHERE = re.compile(r"(LICENSE$|include/|src/|tools/)")


def test_the_pages_of_the_documentation_link_to_what_is_in_the_package(tmp_path):
    subprocess.run(["dpkg-deb", "-x", package("onceguard-doc"), tmp_path], check=True)
    top = tmp_path / "usr/share/doc/onceguard"
    assert (top / "docs/protocol/vectors.json").is_file()
    assert {"go", "node", "python", "sql"} <= {path.name for path in (top / "clients").iterdir()}
    broken, count = [], 0
    for page in top.rglob("*.md"):
        for link in re.findall(r"\]\(([\w./-]+)[^)\s]*\)", page.read_text()):
            if not re.search(r"[./]", link):
                continue  # C++: `[](auto)`
            count += 1
            path = os.path.normpath(page.parent / link)
            if not os.path.exists(path) and not ELSEWHERE.match(os.path.relpath(path, top)):
                broken.append((os.path.relpath(page, top), link))
    assert count > 500
    assert broken == []


@pytest.mark.parametrize("unit", ["onceguard-gateway", "onceguard-consume@", "onceguard-relay@",
                                  "onceguard-serve"])
def test_a_unit_may_do_little(unit):
    done = subprocess.run(
        ["systemd-analyze", "security", "--no-pager", "--offline=yes", "--threshold=15",
         ROOT / f"packaging/systemd/{unit}.service"], capture_output=True, text=True, check=False)
    assert "Overall exposure level" in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout


def test_the_units_are_right(machine):
    machine.apt("install", "--no-install-recommends", "systemd")  # in the place of its small parts
    done = machine.run("systemd-analyze", "verify", "--man=no", *(
        f"/lib/systemd/system/onceguard-{name}" for name in (
            "gateway.service", "gateway.socket", "consume@billing.service",
            "relay@billing.service", "serve.service")), check=False, SYSTEMD_LOG_TARGET="console")
    assert [line for line in done.stderr.splitlines() if "onceguard" in line] == []
    assert done.returncode == 0, done.stderr


# The project has no address that mail reaches, and no bug in Debian's list that an upload closes.
NOT_OURS = "bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs"


def test_lintian_finds_nothing():
    [changes] = PACKAGES.glob("*.changes")
    done = subprocess.run(
        ["lintian", "--fail-on", "error,warning", "--suppress-tags", NOT_OURS, changes],
        capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def digests(folder):
    """The signed parts name the files, and the machine that built them."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()
            if not file.name.endswith((".buildinfo", ".changes"))}


def test_two_builds_are_equal():
    assert len(digests(PACKAGES)) >= 6
    assert digests(PACKAGES) == digests(AGAIN)


def test_a_program_uses_the_packaged_library(tmp_path):
    """Its archives, and the shared library of all components, which has a versioned name."""
    for name in ("libonceguard1", "libonceguard-dev"):
        subprocess.run(["dpkg-deb", "-x", package(name), tmp_path], check=True)
    [libraries] = tmp_path.glob("usr/lib/*/")
    charge = ROOT / "tests/package/charge.cpp"
    for name in ("sqlite", "shared"):
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", f"onceguard-{name}"],
            env={**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")},
            capture_output=True, text=True, check=True).stdout.split()
        program = tmp_path / f"charge-{name}"
        subprocess.run(["c++", "-std=c++20", charge, "-o", program, *flags, "-lsqlite3"],
                       check=True)
        needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True,
                                check=True).stdout
        assert ("[libonceguard.so.1]" in needed) == (name == "shared")
        for said in ("charge 1", "charge 1 (replayed)"):
            done = subprocess.run([program, tmp_path / f"{name}.db", "order-17", "4200"],
                                  env={"LD_LIBRARY_PATH": str(libraries)}, capture_output=True,
                                  text=True, check=False)
            assert done.stdout.strip() == said, done.stderr
