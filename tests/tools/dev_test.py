"""`./dev` alone: each verb that there is, with one line of its own."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_each_verb_has_a_line_and_each_line_a_verb():
    said = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=True).stdout
    named = [re.fullmatch(r"\./dev ([a-z]+) .{0,17} +\S.{10,}", line) for line in said.splitlines()]
    assert all(named), said
    script = (ROOT / "dev").read_text()
    taken = re.search(r"^case \"\$verb\" in\n(.*?)^  \"\" \| help", script, re.M | re.S)[1]
    verbs = {verb for words in re.findall(r"^ +([a-z |\\\n]+)\)", taken, re.M)
             for verb in re.findall("[a-z]+", words)}
    assert {match[1] for match in named} == verbs
    assert len(verbs) > 20
    assert all(len(line) <= 100 for line in said.splitlines())


def test_an_unknown_verb_is_refused():
    done = subprocess.run([ROOT / "dev", "dance"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "./dev demo" in done.stderr
