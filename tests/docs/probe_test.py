"""The probe that the documentation shows has three answers, and what can't be asked is never taken
for "it did not take effect". Extracted from the page, and run as `onceguard exec` runs it."""

import contextlib
import http.server
import re
import shlex
import subprocess
import threading

import pytest

from support.documented import DOCS
from support.executing import UNKNOWN, Executing
from support.ports import Port

PAGES = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
DONE, NOT_DONE, UNSURE = 0, 1, 2
# What the shop may say of its version: how it goes, and what the probe of 1.4.2 answers.
ANSWERS = {
    "the version": ((200, b"1.4.2\n"), DONE), "without an end of line": ((200, b"1.4.2"), DONE),
    "another version": ((200, b"1.4.1\n"), NOT_DONE),
    "a longer one": ((200, b"1.4.20\n"), NOT_DONE),
    "one that a dot fits": ((200, b"1.442\n"), NOT_DONE),
    "an error": ((503, b"1.4.2\n"), UNSURE), "not found": ((404, b"1.4.1\n"), UNSURE),
    "a page of a proxy": ((200, b"<html>Back soon: 1.4.2</html>"), UNSURE),
    "nothing": ((200, b""), UNSURE), "half an answer": (("half", b"1.4.1\n"), UNSURE),
    "a closed connection": (("closed", b""), UNSURE)}


def documented():
    """The line that calls the probe, and the script, from the section on deploys."""
    section = (DOCS / "commands.md").read_text().split("\n### Deploy", 1)[1].split("\n### ", 1)[0]
    shell, script = (block.partition("\n")[2] for block in section.split("\n```")[1:4:2])
    return re.search(r'--probe "([^"]+)"', shell)[1], script.split("\n```")[0]


@contextlib.contextmanager
def shop(port, answer):
    status, body = answer

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if status == "closed":
                self.connection.close()
                return
            self.send_response(200 if status == "half" else status)
            self.send_header("Content-Length", str(len(body) + (50 if status == "half" else 0)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port.number), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def port():
    made = Port()
    yield made
    made.close()


@pytest.fixture
def probe(port, tmp_path):
    """The documented call, in a folder with the documented script, which asks our port."""
    call, script = documented()
    assert "https://shop.example/" in script and "pipefail" in script
    file = tmp_path / shlex.split(call)[0]
    file.write_text(script.replace("https://shop.example/", f"http://127.0.0.1:{port.number}/"))
    file.chmod(0o755)
    return call.replace("$VERSION", "1.4.2")


def ended(probe, folder):
    return subprocess.run(["/bin/sh", "-c", probe], cwd=folder, capture_output=True, timeout=60,
                          check=False).returncode


def test_each_probe_of_the_documentation_is_known_here():
    shown = [call for page in PAGES for call in re.findall(r'--probe "([^"]+)"', page.read_text())]
    assert shown == [documented()[0]]


@pytest.mark.parametrize("said", ANSWERS)
def test_a_probe_has_three_answers(probe, port, tmp_path, said):
    answer, expected = ANSWERS[said]
    with shop(port, answer):
        code = ended(probe, tmp_path)
    assert code == expected if expected != UNSURE else code not in (DONE, NOT_DONE)


def test_a_shop_that_is_away_says_nothing_of_the_deploy(probe, tmp_path):
    assert ended(probe, tmp_path) not in (DONE, NOT_DONE)
    assert ended(re.sub(r"^\S+", "./not-there", probe), tmp_path) not in (DONE, NOT_DONE)


@pytest.mark.parametrize("answer, code, runs", [(None, UNKNOWN, 1), ((200, b"1.4.2"), 0, 1),
                                                ((200, b"1.4.1"), 0, 2), ((503, b""), UNKNOWN, 1)])
def test_a_deploy_whose_machine_died_runs_again_only_where_it_is_not_there(
        onceguard, probe, port, tmp_path, key, answer, code, runs):
    executing = Executing(onceguard, tmp_path)
    script = "[ $(wc -l <\"$EFFECTS\") = 2 ] || kill -9 $$"
    assert executing.shell(key, script).code == 137
    with shop(port, answer) if answer else contextlib.nullcontext():
        done = executing.shell(key, script, options=["--on-unknown", "probe", "--probe", probe])
    assert (done.code, executing.runs(key)) == (code, runs), done
