"""The suite of the Debian packages, which `./dev package --test` runs."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_suite_takes_nothing_from_above_the_repository(tmp_path):
    """pytest looks for conftest.py in each folder above, until one has a file of settings."""
    (tmp_path / "conftest.py").write_text("raise ImportError('of somebody else')\n")
    shutil.copytree(ROOT / "packaging/tests", tmp_path / "clone/packaging/tests")
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "packaging/tests"],
                          cwd=tmp_path / "clone", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_two_builds_are_equal" in done.stdout
