"""`onceguard doctor` on this machine: SQLite, the port, limits, folders and upstreams."""

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess

import pytest

from support.certificates import Authority
from support.doctor import NO_UPSTREAM, Report, examine, run_doctor
from support.expecting import assert_first
from support.ports import Port
from support.proxies import Varnish
from support.secure import SecureUpstream
from support.shut_in import without_calls
from support.toml import toml_text
from support.waiting import wait_until

UNPRIVILEGED = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture
def url(tmp_path):
    return f"sqlite:{tmp_path / 'keys.db'}"


@pytest.fixture
def open_to_all(onceguard, tmp_path):
    """The program where any user may run it, and a folder that any user may enter."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    program = tmp_path / "onceguard"
    shutil.copy(onceguard, program)
    program.chmod(0o755)
    return program


def test_a_machine_that_is_ready_has_no_fault(onceguard, own_upstream, url, tmp_path):
    report = examine(onceguard, "--store", url, "--upstream", own_upstream.url, "--state-dir",
                     tmp_path, "--max-connections", "100")
    assert report.code == 0, report.findings
    for name in ("store-reach", "store-room", "listen", "file-limit", "state-dir", "upstream"):
        assert report.level(name) == "ok", report.one(name)
    assert [r["method"] for r in own_upstream.requests()] == ["HEAD", "GET", "OPTIONS"]
    assert not list(tmp_path.iterdir()), "nothing is made"


def test_the_text_names_level_finding_and_remedy(onceguard, url):
    done = run_doctor(onceguard, "--listen", "127.0.0.1:0", "--store", url, "--upstream",
                      NO_UPSTREAM)
    assert (done.returncode, done.stderr) == (1, "")
    assert "fault    upstream: default (127.0.0.1:9): connect: Connection refused\n" \
           "         -> start the service, or correct the url of its [[upstream]]\n" in done.stdout
    assert "\nok       store-reach: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 fault, ")


def test_a_wrong_configuration_ends_with_3(onceguard):
    done = run_doctor(onceguard, "--json", "--lease", "1ms")
    assert (done.returncode, done.stdout) == (3, "")
    assert "--lease: lease: expected a duration" in done.stderr


# ---- the configuration ------------------------------------------------------------------------
@pytest.mark.parametrize("words, level, text", [
    (["--scope", "none"], "warning", "scope: with \"none\" all callers share their keys"),
    ([], "note", "scope: a refreshed access token is another credential"),
    (["--retention", "20s"], "warning", "retention: shorter than the lease"),
    (["--retention", "10m"], "note", "retention: many clients try again for hours"),
])
def test_what_check_says_is_said_too(onceguard, url, words, level, text):
    report = examine(onceguard, "--store", url, *words)
    found = [one for one in report.all("configuration") if text in one["text"]]
    assert [one["level"] for one in found] == [level], report.findings


# ---- SQLite -----------------------------------------------------------------------------------
def test_a_store_in_use_is_examined_beside_its_gateway(start_gateway, onceguard, own_upstream, key):
    gateway = start_gateway(own_upstream)
    first = assert_first(gateway.post(key=key))
    report = examine(onceguard, "--store", gateway.store_url())
    assert report.level("store-reach") == "ok"
    assert "opened" in report.one("store-reach")["text"]
    assert f"SQLite {sqlite3.sqlite_version.split('.')[0]}." in report.one("store-reach")["text"]
    assert gateway.post(key=key).stored_part() == first.stored_part()


def test_a_folder_that_is_missing(onceguard, tmp_path):
    report = examine(onceguard, "--store", f"sqlite:{tmp_path}/no/keys.db")
    assert report.level("store-reach") == "fault"
    assert f"the directory {tmp_path}/no: No such file" in report.one("store-reach")["text"]
    assert "a gateway starts" in report.one("store-reach")["remedy"]


def test_a_file_of_another_program(onceguard, tmp_path):
    other = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(other)) as file:
        file.execute("CREATE TABLE theirs (x)")
        file.commit()
    report = examine(onceguard, "--store", f"sqlite:{other}")
    assert report.level("store-reach") == "fault"
    assert "of another program" in report.one("store-reach")["text"]
    assert "a gateway ends at once" in report.one("store-reach")["remedy"]


def test_a_file_of_an_older_version_is_left_as_it_is(start_gateway, onceguard, own_upstream, key):
    gateway = start_gateway(own_upstream)
    assert_first(gateway.post(key=key))
    gateway.stop()
    with contextlib.closing(sqlite3.connect(gateway.database)) as file:
        file.execute("PRAGMA user_version = 1")
        file.commit()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = gateway.database.read_bytes()
    report = examine(onceguard, "--store", gateway.store_url())
    assert report.level("store-reach") == "note"
    assert "its schema is version 1; the next start of a gateway brings it to" in \
        report.one("store-reach")["text"]
    assert "onceguard backup" in report.one("store-reach")["remedy"]
    assert gateway.database.read_bytes() == before


@pytest.mark.parametrize("size, level", [("400m", "ok"), ("100m", "warning")])
def test_the_room_and_the_kind_of_a_volume(onceguard, tmp_path, size, level):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", tmp_path], check=True)
    try:
        report = examine(onceguard, "--store", f"sqlite:{tmp_path}/keys.db")
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)
    assert report.level("store-room") == level
    assert report.level("store-file-system") == "warning"
    assert "a reboot loses every record" in report.one("store-file-system")["text"]


def test_a_store_in_memory(onceguard):
    report = examine(onceguard, "--store", "memory:")
    assert report.level("store-durability") == "warning"


# ---- the port ---------------------------------------------------------------------------------
def test_a_port_of_another_program_is_a_fault_that_names_it(onceguard, url):
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        found = examine(onceguard, "--store", url, listen=where).one("listen")
    assert found["level"] == "fault"
    assert f"{where} is taken by " in found["text"] and "(process " in found["text"]


def test_a_port_of_a_running_gateway_is_no_fault(start_gateway, onceguard, own_upstream):
    gateway = start_gateway(own_upstream)
    done = run_doctor(onceguard, "--json", "--config", gateway.config_path)
    assert '"listen"' in done.stdout
    found = examine(onceguard, "--store", gateway.store_url(),
                    listen=f"127.0.0.1:{gateway.port.number}").one("listen")
    assert found["level"] == "note", found
    assert f"(process {gateway.process.pid}): a gateway runs here already" in found["text"]


# ---- what the gateway that runs here has counted ---------------------------------------------
def test_what_came_again_under_another_scope_is_said(start_gateway, onceguard, own_upstream, key,
                                                     tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("operator operator-token-0001\nviewer viewer-token-00002\n")
    tokens.chmod(0o600)
    socket_path = tmp_path / "admin.sock"
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": f"unix:{socket_path}", "admin_token_file": str(tokens)},
        "route": [{"path": "/pay"}, {"path": "/watched", "observe": True}]})

    def found():
        done = run_doctor(onceguard, "--json", "--config", gateway.config_path)
        return Report(done).one("other-scope")

    def post_as(path, *callers):
        for caller in callers:
            fields = [("Authorization", f"Bearer {caller}")]
            assert_first(gateway.post(path, key=key, fields=fields))

    post_as("/pay", "ann-1")
    assert found()["level"] == "ok", found()
    post_as("/pay", "ann-2", "ann-3")
    assert own_upstream.runs(key) == 3

    def said_in_the_end(text):  # what is counted may be counted after its answer
        return wait_until(lambda: text in (one := found())["text"] and one, what=text)
    said = said_in_the_end("under another scope: 2 times, and ran it again")
    assert said["level"] == "warning" and "jwt:sub" in said["remedy"], said
    post_as("/watched", "ann-1", "ann-2")
    text = "2 times, and ran it again; once where it observes, and would run it again"
    assert said_in_the_end(text)["text"].endswith(text)


def test_an_admin_listener_that_tells_nothing_is_no_fault(start_gateway, onceguard, own_upstream,
                                                          tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("operator operator-token-0001\n")
    tokens.chmod(0o600)
    gateway = start_gateway(own_upstream, {
        "gateway": {"admin": f"unix:{tmp_path}/admin.sock", "admin_token_file": str(tokens)}})
    tokens.write_text("operator operator-token-0002\n")  # not in force before a reload
    done = run_doctor(onceguard, "--json", "--config", gateway.config_path)
    said = Report(done).one("other-scope")
    assert said["level"] == "note" and said["text"].endswith("answered 401"), said


@pytest.mark.parametrize("listen, text", [
    ("203.0.113.7:80", "Cannot assign requested address"),
    ("no-such-host.invalid:80", "the name has no address")])
def test_an_address_that_is_not_here(onceguard, url, listen, text):
    found = examine(onceguard, "--store", url, listen=listen).one("listen")
    assert found["level"] == "fault"
    assert text in found["text"]


def test_a_port_that_the_user_may_not_have(open_to_all, tmp_path):
    found = examine(open_to_all, "--store", "memory:", listen="127.0.0.1:81",
                    before=UNPRIVILEGED, cwd=tmp_path).one("listen")
    assert found["level"] == "fault"
    assert "CAP_NET_BIND_SERVICE" in found["remedy"]


# ---- limits and folders -----------------------------------------------------------------------
def test_too_few_files(onceguard, url):
    found = examine(onceguard, "--store", url, "--max-connections", "1000",
                    before=["prlimit", "--nofile=500:500"]).one("file-limit")
    assert found["level"] == "warning"
    assert "may open 500 files, and 1000 connections need 2064" in found["text"]


def test_a_kernel_that_can_shut_the_gateway_in(onceguard, url):
    able = examine(onceguard, "--store", url).one("sandbox")
    assert able["level"] == "ok" and "Landlock" in able["text"]
    off = examine(onceguard, "--store", url, "--sandbox", "off").one("sandbox")
    assert off["level"] == "note" and "not shut in" in off["text"]
    unable = examine(onceguard, "--store", url,
                     before=without_calls("landlock_create_ruleset")).one("sandbox")
    assert unable["level"] == "note" and "Operation not permitted" in unable["text"]


def test_a_state_dir_that_is_missing_or_not_set(onceguard, url, tmp_path):
    missing = examine(onceguard, "--store", url, "--state-dir", tmp_path / "no").one("state-dir")
    assert missing["level"] == "fault" and "No such file or directory" in missing["text"]
    assert examine(onceguard, "--store", url).level("state-dir") == "note"


def test_a_state_dir_of_somebody_else(open_to_all, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    found = examine(open_to_all, "--store", "memory:", "--state-dir", folder, before=UNPRIVILEGED,
                    cwd=tmp_path).one("state-dir")
    assert found["level"] == "fault" and "Permission denied" in found["text"]


def test_files_of_lines(onceguard, url, tmp_path):
    there = tmp_path / "there.log"
    there.write_text("a line\n")
    found = examine(onceguard, "--store", url, "--log-file", there, "--audit-log",
                    tmp_path / "new.jsonl")
    assert found.level("log-file") == "ok" and found.level("audit-log") == "ok"
    assert there.read_text() == "a line\n" and not (tmp_path / "new.jsonl").exists()
    found = examine(onceguard, "--store", url, "--log-file", tmp_path / "no" / "x.log",
                    "--audit-log", tmp_path)
    assert found.level("log-file") == "fault" and found.level("audit-log") == "fault"
    assert "Is a directory" in found.one("audit-log")["text"]


def test_the_admin_listener(onceguard, url, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("operator 0123456789abcdef0123456789abcdef\n")
    tokens.chmod(0o600)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = examine(onceguard, "--store", url, "--admin", f"127.0.0.1:{port}",
                        "--admin-token-file", tokens)
        assert found.level("admin") == "fault"
    assert found.level("admin-token-file") == "ok"
    tokens.chmod(0o644)
    found = examine(onceguard, "--store", url, "--admin", f"unix:{tmp_path}/admin.sock",
                    "--admin-token-file", tokens)
    assert found.level("admin") == "ok" and found.level("admin-token-file") == "fault"
    assert examine(onceguard, "--store", url).level("admin") == "note"


def test_an_admin_socket_in_the_working_directory(onceguard, url, tmp_path):
    found = examine(onceguard, "--store", url, "--admin", "unix:admin.sock", before=[
        "sh", "-c", 'cd "$0" && exec "$@"', tmp_path]).one("admin")
    assert found["level"] == "ok" and found["text"] == ". can be written"
    assert not list(tmp_path.glob("*.sock"))


def test_an_admin_socket_whose_path_is_another_file(onceguard, url, tmp_path):
    path = tmp_path / "admin.sock"
    path.write_text("mine")
    found = examine(onceguard, "--store", url, "--admin", f"unix:{path}").one("admin")
    assert found["level"] == "fault" and f"{path} is there, and is no socket" in found["text"]
    assert path.read_text() == "mine"


def test_an_admin_socket_of_another_process(onceguard, url, tmp_path):
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        found = examine(onceguard, "--store", url, "--admin", f"unix:{path}").one("admin")
        assert found["level"] == "fault"
        assert f"(process {os.getpid()})" in found["text"]
    # Its process is gone: a start removes the file.
    assert examine(onceguard, "--store", url, "--admin", f"unix:{path}").level("admin") == "ok"
    assert path.exists()


def test_an_admin_socket_of_a_running_gateway(start_gateway, onceguard, own_upstream, tmp_path):
    path = tmp_path / "a.sock"
    gateway = start_gateway(own_upstream, {"gateway": {"admin": f"unix:{path}"}})
    found = examine(onceguard, "--store", gateway.store_url(), "--admin", f"unix:{path}")
    assert found.level("admin") == "note"
    assert f"(process {gateway.process.pid}): a gateway runs here already" in \
        found.one("admin")["text"]


# ---- upstreams --------------------------------------------------------------------------------
def test_an_upstream_that_is_not_there(onceguard, url):
    found = examine(onceguard, "--store", url, "--upstream", NO_UPSTREAM).one("upstream")
    assert found["level"] == "fault" and "Connection refused" in found["text"]
    found = examine(onceguard, "--store", url, "--upstream",
                    "http://no-such-host.invalid").one("upstream")
    assert found["level"] == "fault" and "resolve: " in found["text"]


def test_an_upstream_that_takes_no_connection_in_time(onceguard, url, tmp_path):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with contextlib.ExitStack() as waiting:
            for _ in range(3):  # as many as its backlog takes
                one = waiting.enter_context(socket.socket())
                one.setblocking(False)
                one.connect_ex(address)
            found = examine(onceguard, "--store", url, "--upstream",
                            f"http://127.0.0.1:{address[1]}", "--connect-timeout",
                            "300ms").one("upstream")
    assert found["level"] == "fault", found
    assert "connect: " in found["text"]


@pytest.mark.parametrize("listen, upstream", [
    ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "localhost")])
def test_an_upstream_that_leads_back(onceguard, url, listen, upstream):
    with contextlib.closing(Port()) as port:
        found = examine(onceguard, "--store", url, "--upstream", f"http://{upstream}:{port.number}",
                        listen=f"{listen}:{port.number}").one("upstream")
    assert found["level"] == "fault"
    assert "the address on which this gateway listens" in found["text"]


def test_a_proxy_before_the_service_is_named(onceguard, own_upstream, url, tmp_path):
    own_upstream.plan("/", {"headers": [["X-Served-By", "cache-fra1"]]})
    found = examine(onceguard, "--store", url, "--upstream", own_upstream.url).one("upstream")
    assert found["level"] == "note" and "through a proxy" in found["text"]
    assert "(X-Served-By)" in found["text"] and "docs/proxies.md" in found["remedy"]
    varnish = Varnish(tmp_path, own_upstream.address[1])
    with contextlib.closing(varnish):
        found = examine(onceguard, "--store", url, "--upstream", varnish.url).one("upstream")
    assert found["level"] == "note" and "through a proxy" in found["text"], found


def test_an_upstream_that_takes_connections_and_says_nothing(onceguard, url):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = examine(onceguard, "--store", url, "--connect-timeout", "1s", "--upstream",
                        f"http://127.0.0.1:{silent.getsockname()[1]}").one("upstream")
    assert found["level"] == "note" and "does not answer a HEAD" in found["text"], found


@pytest.mark.parametrize("fault, text", [
    ("none shown", "refused this gateway's certificate"), ("another name", "mismatch"),
    ("expired", "refused this gateway's certificate")])
def test_an_upstream_that_refuses_or_is_refused(onceguard, own_upstream, url, tmp_path, fault,
                                                text):
    authority = Authority(tmp_path)
    hosts = ("elsewhere.test",) if fault == "another name" else ("localhost",)
    shop = SecureUpstream(own_upstream, authority.issue("shop", hosts=hosts),
                          client_ca=authority.file)
    table = {"name": "shop", "url": shop.url(), "tls_ca": authority.file}
    if fault == "expired":
        table["tls_certificate"], table["tls_key"] = authority.issue("gateway", expired=True)
    file = tmp_path / "onceguard.toml"
    file.write_text(toml_text({"upstream": [table], "store": {"url": url}}))
    with contextlib.closing(shop):
        report = examine(onceguard, "--config", file)
    found = report.one("upstream")
    assert found["level"] == "fault" and text in found["text"], found
    assert own_upstream.requests() == []
    if fault == "expired":
        assert any("has expired" in each["text"] for each in report.findings)
