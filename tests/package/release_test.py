"""The parts of `./dev release` that compile nothing: tarball, checksums, signatures, tag, and what
it refuses."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "3.4.5"
HEADER = '#define ONCEGUARD_VERSION 30405\ninline constexpr std::string_view version = "3.4.5";\n'
CHANGES = "# Changelog\n\n## [Unreleased]\n\n## [3.4.5] - 2026-01-31\n### Added\n- All.\n"


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, timeout=120,
                          capture_output=True, check=False, env={**os.environ, **environment})
    assert done.returncode == code, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


def commit(tree):
    run("git", "add", "-A", cwd=tree)
    run("git", "commit", "-q", "--allow-empty", "-m", "all", cwd=tree)


@pytest.fixture
def tree(tmp_path):
    """A repository with what a release looks at, and what a build would have left."""
    made = tmp_path / "tree"
    for path, text in (("include/onceguard/version.hpp", HEADER), ("CHANGELOG.md", CHANGES),
                       (".gitignore", "/build/\n"), ("src/main.cpp", "int main() {}\n"),
                       ("build/release/onceguard.spdx.json", "{}\n"),
                       ("build/package/onceguard_3.4.5_amd64.deb", "a package\n"),
                       ("build/package/parts/junk", "no part of it\n")):
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    (made / "tools").mkdir()
    shutil.copy(ROOT / "tools/release.sh", made / "tools")
    run("git", "init", "-q", cwd=made)
    for name, value in (("user.name", "A"), ("user.email", "a@localhost"),
                        ("tag.gpgSign", "false"), ("commit.gpgSign", "false")):
        run("git", "config", name, value, cwd=made)
    commit(made)
    return made


def release(tree, *arguments, code=0, **environment):
    return run("tools/release.sh", *arguments, cwd=tree, code=code, **environment)


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    """Of the repository itself."""
    clone = tmp_path_factory.mktemp("release") / "clone"
    run("git", "clone", "-q", "--depth", "1", f"file://{ROOT}", clone, cwd=ROOT)
    release(clone, "tarball", "one")
    release(clone, "tarball", "two")
    file, = (clone / "one").iterdir()
    return clone, file


def test_the_tarball_is_the_same_twice_and_has_what_git_has(tarball):
    clone, file = tarball
    assert file.read_bytes() == (clone / "two" / file.name).read_bytes()
    folder = file.name.removesuffix(".tar.gz")
    with tarfile.open(file) as opened:
        members = {each.name.removeprefix(f"{folder}/") for each in opened if not each.isdir()}
    assert members == set(run("git", "ls-files", cwd=clone).splitlines())
    built = (".o", ".a", ".pyc", ".so", ".deb", ".db")
    assert not [name for name in members if name.endswith(built) or name.startswith("build/")]


def test_the_tarball_configures_without_its_repository(tarball, tmp_path):
    _, file = tarball
    run("tar", "xf", file, cwd=tmp_path)
    folder = tmp_path / file.name.removesuffix(".tar.gz")
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-G", "Ninja", "-DONCEGUARD_TESTS=OFF",
        cwd=tmp_path)
    cache = (tmp_path / "build/CMakeCache.txt").read_text()
    assert f"onceguard-{_version_in(cache)}" == folder.name
    assert "onceguard" in run("ninja", "-C", tmp_path / "build", "-t", "targets", "all",
                              cwd=tmp_path)


def _version_in(cache):
    return cache.split("CMAKE_PROJECT_VERSION:STATIC=")[1].split("\n")[0]


def test_all_that_was_made_is_collected_and_its_sums_are_right(tree):
    release(tree, "collect")
    folder = tree / f"build/release-{VERSION}"
    assert {file.name for file in folder.iterdir()} == {
        f"onceguard-{VERSION}.tar.gz", f"onceguard-{VERSION}.spdx.json",
        "onceguard_3.4.5_amd64.deb", "SHA256SUMS"}
    assert len((folder / "SHA256SUMS").read_text().splitlines()) == 3
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    (folder / "onceguard_3.4.5_amd64.deb").write_text("another package\n")
    run("sha256sum", "--check", "SHA256SUMS", cwd=folder, code=1)


def test_a_tag_is_made_only_where_it_is_asked_for(tree):
    release(tree, "collect")
    assert run("git", "tag", cwd=tree) == ""
    release(tree, "collect", "--tag")
    assert run("git", "cat-file", "-t", f"v{VERSION}", cwd=tree) == "tag\n"
    release(tree, "collect")
    commit(tree)
    assert "is that of another commit" in release(tree, "check", code=1)


def test_a_key_of_ssh_signs_the_sums(tree, tmp_path):
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key", cwd=tmp_path)
    release(tree, "collect", "--key", tmp_path / "key")
    signers = tmp_path / "signers"
    signers.write_text("onceguard " + (tmp_path / "key.pub").read_text())
    verify = ("ssh-keygen -Y verify -f $0 -I onceguard -n onceguard-release -s SHA256SUMS.sig "
              "< SHA256SUMS")
    folder = tree / f"build/release-{VERSION}"
    assert "Good" in run("bash", "-c", verify, signers, cwd=folder)
    (folder / "SHA256SUMS").write_text("another\n")
    run("bash", "-c", verify, signers, cwd=folder, code=255)


def test_a_key_of_gpg_signs_the_sums(tree, tmp_path):
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    environment = {"GNUPGHOME": str(home)}
    try:
        run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "release@localhost",
            "ed25519", "sign", cwd=tmp_path, **environment)
        release(tree, "collect", "--key", "release@localhost", **environment)
        folder = tree / f"build/release-{VERSION}"
        assert "Good signature" in run("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS",
                                       cwd=folder, **environment)
    finally:
        run("gpgconf", "--kill", "all", cwd=tmp_path, **environment)


REFUSED = [
    ("include/onceguard/version.hpp", HEADER.replace("30405", "30406"), "ONCEGUARD_VERSION is"),
    ("CHANGELOG.md", CHANGES.replace("[3.4.5]", "[3.4.4]"), "has no line"),
    ("CHANGELOG.md", CHANGES.replace(" - 2026-01-31", ""), "has no line"),
    ("CHANGELOG.md", CHANGES.replace("ased]\n", "ased]\n- One more.\n"), "under [Unreleased]"),
]


@pytest.mark.parametrize("path,text,reason", REFUSED)
def test_it_refuses_what_is_not_ready(tree, path, text, reason):
    (tree / path).write_text(text)
    assert "not committed" in release(tree, "check", code=1)
    commit(tree)
    assert reason in release(tree, "check", code=1)
    assert reason in release(tree, "collect", "--tag", code=1)
    assert run("git", "tag", cwd=tree) == ""


def test_it_refuses_a_file_that_is_not_committed(tree):
    release(tree, "check")
    (tree / "src/new.cpp").write_text("")
    assert "src/new.cpp" in release(tree, "check", code=1)


def test_this_repository_names_one_version():
    header = (ROOT / "include/onceguard/version.hpp").read_text()
    version = header.split('string_view version = "')[1].split('"')[0]
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text()
    minor = version.rpartition(".")[0]
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"),
                 ROOT / "tests/package/installed/CMakeLists.txt"]:
        wanted = re.findall(r"find_package\(onceguard (\d[\d.]*)", page.read_text())
        assert set(wanted) <= {minor}, page
