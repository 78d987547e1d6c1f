"""A Debian 12, and copies of it with the packages."""

import os
import pathlib
import subprocess

import pytest

from debian import ROOT, Debian, package


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """A Debian 12 without onceguard."""
    folder = os.environ.get("ONCEGUARD_DEBIAN") or tmp_path_factory.mktemp("debian") / "root"
    if not pathlib.Path(folder, "etc").exists():
        subprocess.run([ROOT / "tools/fresh_debian.sh", folder], check=True)
        Debian(folder).apt("update")
    return Debian(folder)


@pytest.fixture(scope="session")
def base(fresh, tmp_path_factory):
    """The same with the base install."""
    copy = fresh.copy(tmp_path_factory.mktemp("base") / "root")
    copy.install(package("onceguard"))
    return copy


@pytest.fixture
def machine(base, tmp_path):
    """A copy of the base install, of this test alone."""
    return base.copy(tmp_path / "root")
