"""What the README shows is what the program does."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def counts_in(text):
    """Scene titles with the charges without and with Onceguard."""
    return re.findall(r"^\d\. (.*)\n +without Onceguard +(\d+) charges?\b.*\n"
                      r" +with Onceguard +(\d+) charges?\b", text, re.MULTILINE)


def test_the_demo_counts_as_shown(onceguard):
    shown = counts_in(README)
    done = subprocess.run([onceguard, "demo"], capture_output=True, text=True, timeout=60,
                          check=True)
    assert len(shown) == 7
    assert shown == counts_in(done.stdout)


def test_both_answers_shown_are_the_same_but_for_two_headers():
    shown = re.findall(r"^(HTTP/1\.1 201 Created\n(?:.+\n)+\n.+\n)", README, re.MULTILINE)
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


def test_every_command_that_the_docs_show_exists(onceguard):
    words = ("gateway", "demo", "check", "explain", "keys", "stats", "sweep", "migrate",
             "reconcile")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for command, sub in re.findall(
                r"onceguard (\w+)(?: (list|show|release|complete|export|import))?",
                page.read_text()):
            if command not in words:
                continue
            done = subprocess.run([onceguard, command, *([sub] if sub else []), "--help"],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{page}: onceguard {command} {sub}"
