"""What the pages of the documentation are tried on."""

import os
import re
import subprocess

import pytest

from support.documented import DOCS
from support.gateway import clean_environment


def commands_of(page):
    """The commands of a page's blocks without a language, each with all of its lines."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"^ *```\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
        found += [line.strip() for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    return found


@pytest.fixture
def type_it(onceguard, tmp_path):
    """Types a command as it stands on a page, but for what `instead` replaces."""
    def run(command, instead, code=0):
        for shown, real in instead.items():
            command = command.replace(shown, str(real))
        environment = clean_environment()
        environment["PATH"] = os.pathsep.join(
            [str(onceguard.parent), "/usr/lib/postgresql/15/bin", environment["PATH"]])
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=tmp_path,
                              env=environment, capture_output=True, text=True, timeout=60,
                              check=False)
        assert done.returncode == code, (command, done)
        return done.stdout
    return run
