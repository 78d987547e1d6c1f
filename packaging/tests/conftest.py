"""A Debian 12, and copies of it with the packages."""

import os
import subprocess

import pytest

from debian import ROOT, Debian, package


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """A Debian 12 without onceguard."""
    given = os.environ.get("ONCEGUARD_DEBIAN")
    made = Debian(given or tmp_path_factory.mktemp("debian") / "root")
    if not made.path("/etc").exists():
        subprocess.run([ROOT / "tools/fresh_debian.sh", made.folder], check=True)
        made.apt("update")
    yield made
    if not given:
        made.remove()


@pytest.fixture(scope="session")
def base(fresh, tmp_path_factory):
    """The same with the base install."""
    copy = fresh.copy(tmp_path_factory.mktemp("base") / "root")
    copy.install(package("onceguard"))
    yield copy
    copy.remove()


@pytest.fixture
def machine(base, tmp_path):
    """A copy of the base install, of this test alone."""
    copy = base.copy(tmp_path / "root")
    yield copy
    copy.remove()
