"""The program of the release before: which commit it is of, that its packages are asked for, and
that it is built once."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESETS = """{"version": 6, "configurePresets": [{
    "name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}"""
# What is built is a text that says its version, as the program does.
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(onceguard NONE)
option(ONCEGUARD_TESTS "" ON)
add_custom_target(onceguard
  COMMAND cp ${PROJECT_SOURCE_DIR}/program ${PROJECT_BINARY_DIR}/onceguard)
if(ONCEGUARD_TESTS)
  message(FATAL_ERROR "its tests are not asked for")
endif()
"""


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, timeout=120,
                          capture_output=True, check=False, env={**os.environ, **environment})
    assert done.returncode == code, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


class Tree:
    def __init__(self, folder):
        self.folder = folder
        (folder / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools/former_release.sh", folder / "tools")
        (folder / "CMakePresets.json").write_text(PRESETS)
        (folder / "CMakeLists.txt").write_text(CMAKE)
        (folder / "dev").write_text('#!/bin/sh\necho "$*" >>../asked\n')
        (folder / "dev").chmod(0o755)
        (folder / ".gitignore").write_text("/build/\n")
        run("git", "init", "-q", cwd=folder)
        for name, value in (("user.name", "A"), ("user.email", "a@localhost"),
                            ("tag.gpgSign", "false"), ("commit.gpgSign", "false")):
            run("git", "config", name, value, cwd=folder)

    def commit(self, version, tag=None):
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\necho onceguard {version}\n")
        program.chmod(0o755)
        run("git", "add", "-A", cwd=self.folder)
        run("git", "commit", "-q", "--allow-empty", "-m", version, cwd=self.folder)
        if tag:
            run("git", "tag", "-a", tag, "-m", tag, cwd=self.folder)

    def build(self, *commit, **how):
        return run("tools/former_release.sh", "build/former", *commit, cwd=self.folder, **how)

    def program(self):
        return run("build/former/onceguard", "--version", cwd=self.folder).strip()


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "tree")


def test_it_is_that_of_the_last_tag_before_this_commit(tree):
    tree.commit("0.2.0", "v0.2.0")
    tree.commit("0.2.1", "v0.2.1")
    tree.commit("0.3.0-work")
    tree.build()
    assert tree.program() == "onceguard 0.2.1"
    # The tag of the commit itself is this release.
    tree.commit("0.3.0", "v0.3.0")
    tree.build()
    assert tree.program() == "onceguard 0.2.1"
    tree.commit("0.3.1-work")
    tree.build()
    assert tree.program() == "onceguard 0.3.0"
    tree.build("v0.2.0")
    assert tree.program() == "onceguard 0.2.0"


def test_it_is_built_once(tree):
    tree.commit("0.2.0", "v0.2.0")
    tree.commit("0.3.0")
    assert "building onceguard of v0.2.0" in tree.build()
    assert (tree.folder / "build/former/asked").read_text() == "deps build\n"
    assert tree.build() == ""
    (tree.folder / "build/former/onceguard").unlink()
    assert "building onceguard of v0.2.0" in tree.build()


def test_a_build_that_failed_is_not_taken_for_one(tree):
    tree.commit("0.2.0", "v0.2.0")
    (tree.folder / "CMakeLists.txt").write_text("message(FATAL_ERROR whatever)\n")
    tree.commit("0.2.1", "v0.2.1")
    tree.commit("0.3.0")
    tree.build("v0.2.0")
    for _ in range(2):
        said = tree.build(code=1)
        assert "whatever" in said and "former_release: cmake failed" in said
    assert not (tree.folder / "build/former/onceguard").exists()


def test_a_commit_that_is_not_there_is_named(tree):
    tree.commit("0.2.0")
    tree.commit("0.3.0")
    said = tree.build(code=1)
    assert "has no commit 5a03e739349c" in said and "git fetch --unshallow" in said
