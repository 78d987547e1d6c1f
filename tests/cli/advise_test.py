"""`onceguard advise`: every way through its table of questions, by flags and on a terminal."""

import json
import os
import pathlib
import pty
import re
import subprocess

import pytest

from support.gateway import clean_environment
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = json.loads((ROOT / "src/advise/questions.json").read_text())


def ways(question, before=()):
    """Each way from a question to an advice: pairs of question and answer, and the advice."""
    for name, answer in TABLE["questions"][question]["answers"].items():
        way = (*before, (question, name))
        if "advice" in answer:
            yield way, answer["advice"]
        else:
            yield from ways(answer["next"], way)


WAYS = list(ways(TABLE["first"]))


def run(onceguard, folder, *arguments, stdin=""):
    return subprocess.run([str(onceguard), "advise", *arguments], cwd=folder, input=stdin,
                          capture_output=True, text=True, timeout=60, env=clean_environment(),
                          check=False)


def flags_of(way):
    return [word for question, answer in way for word in (f"--{question}", answer)]


def test_every_advice_is_at_the_end_of_a_way():
    assert {advice for _, advice in WAYS} == set(TABLE["advice"])


@pytest.mark.parametrize("way, name", WAYS, ids=lambda value: value if isinstance(value, str)
                         else " ".join(answer for _, answer in value))
def test_each_way_ends_with_its_advice(onceguard, tmp_path, way, name):
    advice = TABLE["advice"][name]
    done = run(onceguard, tmp_path, *flags_of(way))
    assert (done.returncode, done.stderr) == (0, ""), done
    lines = done.stdout.splitlines()
    assert lines[0] == advice["title"]
    assert advice["because"] in lines
    for line in filter(None, advice["begin"]):
        assert "    " + line in lines
    for gap in advice["not"]:
        assert "  - " + gap in lines
    assert lines[-1] == "More: " + advice["page"]
    assert (ROOT / advice["page"]).is_file()


@pytest.mark.parametrize("way, name", WAYS, ids=lambda value: value if isinstance(value, str)
                         else " ".join(answer for _, answer in value))
def test_each_way_needs_all_of_its_answers(onceguard, tmp_path, way, name):
    question, answer = way[-1]
    done = run(onceguard, tmp_path, *flags_of(way[:-1]))
    assert (done.returncode, done.stdout) == (2, "")
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"onceguard: --{question} is missing: ")
    assert answer in first.split("? ")[-1].split(", ")


@pytest.mark.parametrize("name", [n for n, a in TABLE["advice"].items()
                                  if a["language"] == "toml"])
def test_the_configuration_to_begin_with_is_valid(onceguard, tmp_path, name):
    file = tmp_path / "onceguard.toml"
    file.write_text("\n".join(TABLE["advice"][name]["begin"]) + "\n")
    (tmp_path / "stripe.secret").write_text("whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n")
    words = [str(onceguard), "check", "--config", str(file)]
    if "[[upstream]]" not in file.read_text():  # of another command than the gateway
        words += ["--upstream", "http://127.0.0.1:9000"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env=clean_environment(), check=False)
    assert done.returncode == 0, done


def test_an_answer_to_no_question_is_refused(onceguard, tmp_path):
    done = run(onceguard, tmp_path, "--arrives", "webhook", "--name", "client")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == \
        "onceguard: --name does not matter after --arrives webhook"
    done = run(onceguard, tmp_path, "--arrives", "letter")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'expected request, message, webhook, event, steps, got "letter"' in done.stderr


class Terminal:
    """A person at a terminal."""

    def __init__(self, onceguard, folder):
        self.shown = ""
        self.side, other = pty.openpty()
        self.process = subprocess.Popen([str(onceguard), "advise"], cwd=folder, stdin=other,
                                        stdout=other, stderr=other, env=clean_environment())
        os.close(other)

    def read(self):
        try:
            piece = os.read(self.side, 65536)
        except OSError:  # the other side is gone
            return False
        self.shown += piece.decode().replace("\r\n", "\n")
        return bool(piece)

    def wait_for(self, text):
        while text not in self.shown:
            assert self.read(), self.shown
        self.shown = self.shown.split(text, 1)[1]

    def answer(self, text):
        self.wait_for("> ")
        os.write(self.side, text.encode())

    def end(self):
        while self.read():
            pass
        os.close(self.side)
        wait_until(lambda: self.process.poll() is not None, what="its end")
        return self.process.returncode


def test_on_a_terminal_it_asks(onceguard, tmp_path):
    terminal = Terminal(onceguard, tmp_path)
    terminal.wait_for(TABLE["questions"]["arrives"]["text"])
    terminal.answer("1\n")
    terminal.wait_for(TABLE["questions"]["meaning"]["text"])
    terminal.answer("99\n")
    terminal.wait_for("A number from 1 to 5, please.")
    terminal.answer("create\n")
    terminal.wait_for(TABLE["questions"]["name"]["text"])
    terminal.answer("2\n")
    assert terminal.end() == 0
    assert TABLE["advice"]["unique-constraint"]["title"] in terminal.shown


def test_an_end_of_the_answers_is_an_error(onceguard, tmp_path):
    terminal = Terminal(onceguard, tmp_path)
    terminal.answer("\x04")
    assert terminal.end() == 2
    assert "the answers ended before the last question" in terminal.shown


def test_the_tree_of_the_documentation_is_the_table(onceguard, tmp_path):
    done = run(onceguard, tmp_path, "--chart")
    page = (ROOT / "docs/patterns/README.md").read_text()
    assert re.search(r"```mermaid\n(.*?)```", page, re.DOTALL)[1] == done.stdout
