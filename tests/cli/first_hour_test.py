"""`onceguard init`, `check`, `doctor` and the first replay, with the services that people have."""

import contextlib
import json
import os
import socket
import stat
import subprocess

import pytest

from support.doctor import Report, run_doctor
from support.gateway import clean_environment
from support.neighbours import start_neighbour
from support.terminal import Terminal

BODY = b'{"item":"book"}'
ANN = ("Authorization", "Bearer ann")


def init(onceguard, *words, **how):
    return subprocess.run([str(onceguard), "init", *map(str, words)], capture_output=True,
                          text=True, timeout=120, check=False, env=clean_environment(),
                          stdin=subprocess.DEVNULL, **how)


def check(onceguard, file):
    return subprocess.run([str(onceguard), "check", "--config", str(file)], capture_output=True,
                          text=True, timeout=60, check=False, env=clean_environment())


def assert_no_remark(onceguard, file):
    done = check(onceguard, file)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.splitlines()[0] == f"{file}: ok", done.stdout


@pytest.fixture
def settled_in(onceguard, start_gateway, tmp_path):
    """A neighbour, and a gateway that runs by what `init` has written for it."""
    running = []

    def settle(name, *words):
        service = start_neighbour(name, tmp_path)
        running.append(service)
        gateway = start_gateway(service.url, started=False)
        done = init(onceguard, "--upstream", service.url, "--listen",
                    f"127.0.0.1:{gateway.port.number}", "--admin",
                    f"unix:{gateway.folder}/admin.sock", "--store", gateway.store_url(),
                    "--config", gateway.config_path, "--force", "--path", "/orders", *words)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert_no_remark(onceguard, gateway.config_path)
        report = Report(run_doctor(onceguard, "--json", "--config", gateway.config_path))
        assert service.count() == 0, "looking has no effect"
        return service, gateway.start(), report
    yield settle
    for service in running:
        service.close()


def twice(gateway, key, path="/orders", fields=(ANN,)):
    return [gateway.post(path, key=key, body=BODY, fields=list(fields)) for _ in range(2)]


def test_express(settled_in, key):
    service, gateway, report = settled_in("express", "--callers", "authorization")
    assert "Express" in report.one("upstream-server")["text"]
    assert not [one for one in report.findings
                if one["level"] not in ("ok",) and one["id"].startswith("upstream")]
    first, again = twice(gateway, key)
    assert first.status == again.status == 201 and again.replayed
    assert first.body == again.body and service.count() == 1


def test_the_development_server_of_flask(settled_in, key):
    service, gateway, report = settled_in("flask", "--callers", "nobody")
    said = report.one("upstream-server")
    assert said["level"] == "note" and "server for development" in said["text"]
    said = report.one("upstream-version")
    assert "HTTP/1.0" in said["text"] and said["level"] == "ok", "init has set empty_body"
    assert 'empty_body = "length"' in gateway.config_path.read_text()
    first, again = twice(gateway, key, fields=())
    assert first.status == again.status == 201 and again.replayed
    assert first.body == again.body and service.count() == 1


def test_php(settled_in, key):
    service, gateway, report = settled_in("php", "--callers", "authorization")
    said = report.one("upstream-length")
    assert said["level"] == "warning" and "GET / without a length" in said["text"]
    assert "docs/problems/answer-not-kept.md" in said["remedy"]
    first, again = twice(gateway, key)
    # As the finding says.
    assert first.status == 201 and json.loads(first.body) == {"order": 1}
    assert again.status == 409 and b"answer-not-kept" in again.body
    assert service.count() == 1


def test_fastapi_with_another_slash(settled_in, key):
    service, gateway, report = settled_in("fastapi", "--callers", "authorization")
    said = report.one("upstream-redirect")
    assert said["level"] == "note" and "HEAD /orders on to " in said["text"]
    assert said["remedy"].startswith("let clients send to /orders/ of the gateway")
    assert said["text"].partition(" (307)")[1] and "docs/first-hour.md" in said["remedy"]
    for answer in twice(gateway, key):
        assert answer.status == 307
        followed = gateway.post("/orders/", key=key, body=BODY, fields=[ANN])
        assert followed.status == 201 and json.loads(followed.body) == {"order": 1}
    assert followed.replayed and service.count() == 1


@pytest.mark.parametrize("name, sign", [("varnish", "X-Varnish"), ("caddy", "Caddy")])
def test_behind_a_proxy(settled_in, key, name, sign):
    service, gateway, report = settled_in(name, "--callers", "proxy", "--name", "X-User")
    said = report.one("upstream" if name == "varnish" else "upstream-server")
    assert said["level"] == "note" and "docs/proxies.md" in said["remedy"], said
    assert sign in said["text"] or "Via" in said["text"], said
    first, again = twice(gateway, key, fields=[("X-User", "ann")])
    assert first.status == again.status == 201 and again.replayed
    assert first.body == again.body and service.count() == 1


def test_varnish_without_its_service(onceguard, tmp_path):
    with contextlib.closing(start_neighbour("varnish", tmp_path)) as service:
        service.process.kill()
        service.process.wait()
        report = Report(run_doctor(onceguard, "--json", "--listen", "127.0.0.1:0", "--store",
                                   "memory:", "--upstream", service.url))
    said = report.one("upstream-status")
    assert said["level"] == "warning" and "503, which is of Varnish" in said["text"], said


def curl_digest(gateway, key):
    done = subprocess.run(
        ["curl", "-sS", "--digest", "-u", "ann:secret", "-D", "-", "--data-binary", BODY.decode(),
         "-H", "Content-Type: application/json", "-H", f"Idempotency-Key: {key}",
         f"http://127.0.0.1:{gateway.port.number}/orders"],
        capture_output=True, text=True, timeout=60, check=True)
    head, _, body = done.stdout.rpartition("\n\n")
    return head.rpartition("HTTP/1.1 ")[2], body


def test_a_client_with_digest(settled_in, key):
    service, gateway, report = settled_in("digest", "--replay-check", "/auth")
    text = gateway.config_path.read_text()
    assert 'scope = "auth-param:username,realm"' in text, "as the service asks for Digest"
    said = report.one("credentials")
    assert said["level"] == "ok" and "Digest" in said["text"]
    (first, body), (again, same) = curl_digest(gateway, key), curl_digest(gateway, key)
    assert first.startswith("201") and again.startswith("201"), (first, again)
    assert "Idempotent-Replayed: true" in again and "Idempotent-Replayed" not in first
    assert body == same and service.count() == 1


def test_digest_with_the_usual_scope_is_a_warning(onceguard, tmp_path):
    with contextlib.closing(start_neighbour("digest", tmp_path)) as service:
        report = Report(run_doctor(onceguard, "--json", "--listen", "127.0.0.1:0", "--store",
                                   "memory:", "--upstream", service.url))
    said = report.one("credentials")
    assert said["level"] == "warning" and "the service asks for Digest" in said["text"]
    assert 'scope = "auth-param:username,realm", with replay_check' in said["remedy"]


# ---- init itself ------------------------------------------------------------------------------
CALLERS = [("authorization", []), ("cookie", ["--name", "sid"]),
           ("signed", ["--name", "Digest", "--replay-check", "/auth"]),
           ("signed", ["--name", "AWS4-HMAC-SHA256", "--trusted-proxy", "10.0.0.0/8"]),
           ("proxy", []), ("nobody", [])]


@pytest.mark.parametrize("callers, words", CALLERS)
@pytest.mark.parametrize("store", ["sqlite:onceguard.db", "sqlite:/var/lib/x/keys.db",
                                   "postgresql://app@db/x", "redis://cache", "memory:"])
def test_check_has_no_remark_whatever_was_answered(onceguard, tmp_path, callers, words, store):
    file = tmp_path / "onceguard.toml"
    done = init(onceguard, "--offline", "--upstream", "https://shop.example/api", "--callers",
                callers, "--store", store, "--path", "/orders", "--path", "/refunds", *words,
                cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert_no_remark(onceguard, file)
    assert max(map(len, file.read_text().splitlines())) <= 100


def test_a_file_that_is_there_is_left_alone(onceguard, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text("# mine\n")
    words = ["--offline", "--upstream", "http://127.0.0.1:9", "--config", file]
    done = init(onceguard, *words)
    assert done.returncode == 1 and "--force" in done.stderr
    assert file.read_text() == "# mine\n"
    shown = init(onceguard, *words, "--stdout")
    assert shown.returncode == 0 and file.read_text() == "# mine\n"
    assert init(onceguard, *words, "--force").returncode == 0
    assert file.read_text() == shown.stdout
    assert [one.name for one in tmp_path.iterdir()] == ["x.toml"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")],
                         ids=["fifo", "link"])
def test_what_is_no_regular_file_is_left_alone(onceguard, tmp_path, make):
    """A device too: the new file would take its name."""
    path = tmp_path / "x.toml"
    make(path)
    words = ["--offline", "--upstream", "http://127.0.0.1:9", "--config", path]
    assert "is there already" in init(onceguard, *words).stderr
    done = init(onceguard, *words, "--force")
    assert done.returncode == 1 and "is no regular file, and is left alone" in done.stderr
    assert not path.is_file() and [one.name for one in tmp_path.iterdir()] == ["x.toml"]


def test_a_file_that_is_made_meanwhile_is_left_alone(onceguard, tmp_path):
    """The service is asked after the first look at the file; its answer waits for the second."""
    file = tmp_path / "x.toml"
    with socket.create_server(("127.0.0.1", 0)) as service:
        running = subprocess.Popen(
            [str(onceguard), "init", "--upstream", f"http://127.0.0.1:{service.getsockname()[1]}",
             "--config", str(file)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=clean_environment())
        service.settimeout(60)
        service.accept()[0].close()  # a connection that is only tried
        with service.accept()[0] as connection:
            file.write_text("# mine\n")
            connection.sendall(b"no HTTP\r\n\r\n")
            _, errors = running.communicate(timeout=60)
    assert running.returncode == 1 and "can't be written" in errors, errors
    assert file.read_text() == "# mine\n"
    assert [one.name for one in tmp_path.iterdir()] == ["x.toml"]


@pytest.mark.parametrize("store, mode", [("postgresql://app:secret@db/x", 0o600),
                                         ("postgresql://app@db/x", 0o644)])
def test_a_password_is_for_its_user_alone(onceguard, tmp_path, store, mode):
    file = tmp_path / "x.toml"
    init(onceguard, "--offline", "--upstream", "http://127.0.0.1:9", "--store", store, "--config",
         file)
    assert stat.S_IMODE(os.stat(file).st_mode) == mode


def test_a_password_that_every_user_can_read_is_a_warning(onceguard, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text('[gateway]\nlisten = "127.0.0.1:0"\n'
                    '[store]\nurl = "postgresql://me:secret@127.0.0.1:9/x"\n')
    for mode, level in ((0o644, ["warning"]), (0o640, [])):
        file.chmod(mode)
        done = run_doctor(onceguard, "--json", "--config", file)
        found = Report(done).all("configuration-rights")
        assert [one["level"] for one in found] == level and "secret" not in done.stdout, found


@pytest.mark.parametrize("words, code, text", [
    ([], 2, "--upstream"),
    (["--upstream", "ftp://x"], 2, "ftp"),
    (["--upstream", "http://127.0.0.1:9", "--callers", "signed", "--name", "Digest"], 2,
     "--replay-check"),
    (["--upstream", "http://127.0.0.1:9", "--callers", "cookie"], 2, "--name"),
    (["--upstream", "http://127.0.0.1:9", "--store", "oracle:x"], 3, "nothing was written"),
])
def test_what_is_missing_or_wrong_is_said(onceguard, tmp_path, words, code, text):
    done = init(onceguard, "--offline", *words, cwd=tmp_path)
    assert done.returncode == code and text in done.stderr, done
    assert not list(tmp_path.iterdir())


def test_a_service_that_is_not_there_is_no_hindrance(onceguard, tmp_path):
    file = tmp_path / "x.toml"
    done = init(onceguard, "--upstream", "http://127.0.0.1:9", "--config", file)
    assert done.returncode == 0 and "Connection refused" in done.stderr
    assert "Connection refused" in file.read_text()
    assert_no_remark(onceguard, file)


def test_a_person_is_asked(onceguard, own_upstream, tmp_path):
    own_upstream.plan("/", {"headers": [["Set-Cookie", "AWSALB=x"], ["Set-Cookie", "csrftoken=y"],
                                        ["Set-Cookie", "basket_sid=1; Path=/"]]})
    terminal = Terminal([str(onceguard), "init"], clean_environment(), tmp_path)
    answers = [own_upstream.url, "", "", "sqlite:keys.db", "127.0.0.1:0"]
    asked = ["address", "Callers [cookie]", "name [basket_sid]", "store", "Listen"]
    for question, answer in zip(asked, answers):
        while question.encode() not in terminal.text.rpartition(b"\r\n")[2]:
            assert terminal.read(), terminal.text
        os.write(terminal.master, answer.encode() + b"\n")
        terminal.text += b"\r\n"
    while terminal.read():
        pass
    text = (tmp_path / "onceguard.toml").read_text()
    assert 'scope = "cookie:basket_sid"' in text and 'url = "sqlite:keys.db"' in text
    assert_no_remark(onceguard, tmp_path / "onceguard.toml")
    assert {one["method"] for one in own_upstream.requests()} == {"HEAD", "GET", "OPTIONS"}


def test_the_end_of_the_input_is_no_answer(onceguard, tmp_path):
    terminal = Terminal([str(onceguard), "init", "--offline"], clean_environment(), tmp_path)
    while b"address" not in terminal.text:
        assert terminal.read(), terminal.text
    os.write(terminal.master, b"\x04")
    while terminal.read():
        pass
    assert b"the input ended before an answer; nothing was written" in terminal.text
    assert not list(tmp_path.iterdir())


# ---- what doctor says of credentials ----------------------------------------------------------
@pytest.mark.parametrize("samples, level, text", [
    (["Bearer one"], "ok", "nothing in it changes"),
    (["Bearer one", "Bearer two"], "warning", "2 different credentials of one caller"),
    (["Digest username=\"ann\", nonce=\"1\""], "warning", "Digest may be signed anew"),
    # {"iat": 0, "exp": 300}
    (["Bearer eyJhbGciOiJub25lIn0.eyJpYXQiOjAsImV4cCI6MzAwfQ.x"], "warning", "lives for 300 s"),
])
def test_samples_of_a_credential(onceguard, tmp_path, samples, level, text):
    file = tmp_path / "samples"
    file.write_text("\n".join(samples) + "\n")
    for words in (["--authorization", f"@{file}"],
                  [word for one in samples for word in ("--authorization", one)]):
        done = run_doctor(onceguard, "--json", "--listen", "127.0.0.1:0", "--store", "memory:",
                          *words)
        said = Report(done).one("credentials")
        assert said["level"] == level and text in said["text"], said
        assert not any(one in done.stdout for one in samples), "a credential is not shown"


def test_a_warning_ends_with_1_where_it_is_asked_for(onceguard):
    words = ["--json", "--listen", "127.0.0.1:0", "--store", "memory:"]
    assert run_doctor(onceguard, *words).returncode == 0
    assert run_doctor(onceguard, *words, "--strict").returncode == 1


def test_a_clock_and_a_coding_and_a_redirect_that_loses_the_order(onceguard, own_upstream):
    own_upstream.plan("/", {"headers": [["Content-Encoding", "gzip"],
                                        ["Date", "Sun, 06 Nov 1994 08:49:37 GMT"]]})
    own_upstream.plan("/pay", {"status": 301, "headers": [["Location", "/pay/"]]})
    done = run_doctor(onceguard, "--json", "--listen", "127.0.0.1:0", "--store", "memory:",
                      "--upstream", own_upstream.url, "--path", "/", "--path", "/pay")
    report = Report(done)
    assert report.level("upstream-clock") == "warning", report.findings
    assert "in the coding gzip" in report.one("upstream-coding")["text"]
    said = report.one("upstream-redirect")
    assert said["level"] == "warning" and "most clients make a GET of a POST" in said["text"]
    said = report.one("upstream-requests")["text"]
    for look in ("HEAD /: ", "GET /: ", "OPTIONS /: ", "OPTIONS /pay: 301"):
        assert look in said, said


def test_a_redirect_below_the_path_of_an_upstream(onceguard, own_upstream):
    own_upstream.plan("/api/pay", {"status": 308, "headers": [["Location", "/api/pay/"]]})
    done = run_doctor(onceguard, "--json", "--listen", "127.0.0.1:0", "--store", "memory:",
                      "--upstream", f"{own_upstream.url}/api", "--path", "/pay")
    assert Report(done).one("upstream-redirect")["remedy"].startswith("let clients send to /pay/ ")


@pytest.mark.parametrize("location, level, text", [
    ("http://elsewhere.test/pay/", "warning", "who follows goes past the gateway"),
    ("/pay/", "note", "a POST and its key follow"),
    ("/login", None, ""),
])
def test_where_a_redirect_leads(onceguard, own_upstream, location, level, text):
    own_upstream.plan("/pay", {"status": 307, "headers": [["Location", location]]})
    done = run_doctor(onceguard, "--json", "--listen", "127.0.0.1:0", "--store", "memory:",
                      "--upstream", own_upstream.url, "--path", "/pay")
    found = Report(done).all("upstream-redirect")
    assert [one["level"] for one in found] == ([level] if level else []), found
    assert all(text in one["text"] for one in found)
    assert {one["method"] for one in own_upstream.requests()} == {"HEAD", "GET", "OPTIONS"}
