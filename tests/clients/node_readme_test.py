"""What the page of the client for Node tells a newcomer to type, as it stands there."""

import contextlib
import os
import re
import subprocess

from clients.node_programs import CLIENT, ROOT
from support.ports import Port


def test_five_commands_to_the_first_replay(onceguard, tmp_path):
    text = (CLIENT / "README.md").read_text()
    typed = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    commands = re.sub(r"(<<'END'\n).*?\nEND\n", r"\1", typed, flags=re.DOTALL).splitlines()
    assert len(commands) == 5, commands
    home, shop = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    shop.mkdir()
    (home / "onceguard").symlink_to(ROOT)
    with contextlib.closing(Port()) as port:
        typed = typed.replace("9000", str(port.number)) \
            .replace("/tmp/onceguard.sock", f"{tmp_path}/s") \
            .replace("npm install", "npm install --offline --no-audit --no-fund >&2") \
            .replace("curl", "curl -sS --retry 60 --retry-delay 1 --retry-connrefused")
        twice = typed.rpartition("curl")
        script = "trap 'kill $(jobs -p)' EXIT\nset -e\n" + typed + twice[1] + twice[2]
        done = subprocess.run(
            ["bash", "-c", script], cwd=shop, capture_output=True, text=True, timeout=300,
            check=False, env={**os.environ, "HOME": str(home),
                              "PATH": f"{onceguard.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("charging 1000") == 1, done.stdout
    first, _, second = done.stdout.partition("HTTP/1.1 201 Created")[2].partition("HTTP/1.1 201")
    assert '{"charged":1000}' in first and '{"charged":1000}' in second, done.stdout + done.stderr
    assert "Idempotent-Replayed: true" in second and "Idempotent-Replayed" not in first
