"""What the README and the first steps show is what the program does."""

import functools
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
START = (ROOT / "docs/start.md").read_text()


def counts_in(text):
    """Scene titles with the charges without and with Onceguard."""
    return re.findall(r"^\d\. (.*)\n +without Onceguard +(\d+) charges?\b.*\n"
                      r" +with Onceguard +(\d+) charges?\b", text, re.MULTILINE)


def test_the_demo_counts_as_shown(onceguard):
    shown = counts_in(README)
    done = subprocess.run([onceguard, "demo"], capture_output=True, text=True, timeout=240,
                          check=True)
    assert len(shown) == 7
    assert shown == counts_in(done.stdout)


def test_both_answers_shown_are_the_same_but_for_two_headers():
    shown = re.findall(r"^(HTTP/1\.1 201 Created\n(?:.+\n)+\n.+\n)", START, re.MULTILINE)
    first, again = (re.sub(r"^Date: .*\n", "", answer, flags=re.MULTILINE) for answer in shown)
    assert "Idempotent-Replayed: true\n" in again
    assert first == again.replace("Idempotent-Replayed: true\n", "")


def test_the_configuration_shown_is_in_order(onceguard, tmp_path):
    toml = re.search(r"```toml\n(.*?)```", README, re.DOTALL).group(1)
    (tmp_path / "onceguard.toml").write_text(toml)
    done = subprocess.run([onceguard, "check", "--config", "onceguard.toml"], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert toml.count("\n") <= 25


GROUPS = ("keys", "messages", "outbox")  # commands that have commands


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown_commands(page):
    """Each `onceguard …` that stands at the beginning of a line or of inline code."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    fenced = [line for block in re.findall(r"^ *```(?:sh|)\n(.*?)^ *```$", text, re.M | re.S)
              for line in block.splitlines()]
    inline = re.findall(r"`(onceguard [^`\n]+)`", text)
    for line in [*fenced, *inline]:
        found = re.match(r" *(?:\$ |build/release/)?onceguard ([a-z].*)", line)
        if found:
            yield re.split(r" [#|&>] ?", found[1])[0]


@pytest.fixture(scope="module")
def helps(onceguard):
    """What `onceguard WORDS --help` says."""
    @functools.lru_cache(maxsize=None)
    def say(*words):
        done = subprocess.run([onceguard, *words, "--help"], capture_output=True, text=True,
                              timeout=120, check=False)
        return done.stdout if done.returncode == 0 else None
    return say


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_flag_that_a_page_shows_exists(helps, page):
    for command in shown_commands(page):
        words = command.split()
        named = words[:2] if words[0] in GROUPS and words[1:2] and words[1].isalpha() else words[:1]
        said = helps(*named)
        assert said is not None, f"onceguard {command}: no such command"
        before = command.partition(" -- ")[0]  # behind it are the flags of another program
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", before):
            assert re.search(rf"(?<![\w-]){flag}(?![\w-])", said), f"onceguard {command}: {flag}"
