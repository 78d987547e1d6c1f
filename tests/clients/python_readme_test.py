"""The commands of the Python client's README, typed as they stand there but for port and folder."""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

from clients.python_examples import CLIENT
from support.gateway import clean_environment
from support.ports import Port

TYPED = re.search(r"```sh\n(.*?)```", (CLIENT / "README.md").read_text(), re.DOTALL)[1]
INSTALLS = [line for line in TYPED.splitlines() if "venv" in line][0]


def test_the_first_replay_takes_five_commands():
    assert len(TYPED.splitlines()) == 5


@pytest.mark.parametrize("installed", [True, False], ids=["venv", "PYTHONPATH"])
def test_the_readme_can_be_typed_to_the_first_replay(onceguard, tmp_path, installed):
    folder = shutil.copytree(CLIENT, tmp_path / "python")
    commands = TYPED
    if not installed:  # as the README says it
        assert "`PYTHONPATH=. python3`" in (CLIENT / "README.md").read_text()
        commands = commands.replace(INSTALLS, "").replace(
            "shop/bin/python", "env PYTHONPATH=. python3")
    with contextlib.closing(Port()) as port:
        script = commands.replace("8000", str(port.number)).replace("/tmp/", f"{tmp_path}/") \
            .replace("curl", "curl -sS --retry 60 --retry-delay 1 --retry-connrefused")
        done = subprocess.run(
            ["bash", "-c", "trap 'kill $(jobs -p)' EXIT\nset -e\n" + script], cwd=folder,
            capture_output=True, text=True, timeout=300, check=False,
            env={**clean_environment(), "EFFECTS": str(tmp_path / "effects"),
                 "PATH": f"{onceguard.parent}:/usr/bin:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr
    _, first, second = re.split(r"(?=HTTP/1\.1 201)", done.stdout)
    for answer in (first, second):
        assert '"paid":1000' in answer and '"attempt":1' in answer, answer
    assert "Idempotent-Replayed: true" in second and "Idempotent-Replayed" not in first
