"""Lines that a program prints for a person to copy into a shell."""

import os
import subprocess

from support.gateway import clean_environment


def in_shell(exec_, line):
    """As a person would copy it into bash; `onceguard` is the one under test."""
    path = f"{exec_.onceguard.parent}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", line], cwd="/", env={**clean_environment(), "PATH": path},
                          capture_output=True, text=True, timeout=60, check=False)
