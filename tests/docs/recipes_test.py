"""Each recipe of CONTRIBUTING.md is followed beside the sources, and what it touches compiles."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^##)", PAGE.split("\n## Recipes\n")[1],
                          re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"^```\w+ (\S+)(?: (after|within) ([^\n]+))?\n(.*?)^```$",
                   re.MULTILINE | re.DOTALL)
COMPILED = re.compile(r"^Also compiled: ([^.]*\.cpp`)", re.MULTILINE)
# A row of data, and the code that is to be reached.
TWO_PLACES = ("A route option", "A metric", "A log event", "A webhook sender", "A command")


def follow(recipe, tree):
    """Puts the blocks where they belong, in copies of these files. Returns the files."""
    touched = []
    for path, how, anchor, text in BLOCK.findall(recipe):
        file = tree / path
        touched.append(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() and (ROOT / path).exists():
            shutil.copy(ROOT / path, file)
        if not how:
            with file.open("a", encoding="utf-8") as out:
                out.write(text)
            continue
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        found = [i for i, line in enumerate(lines) if anchor in line]
        assert len(found) == 1, f"{path} has {len(found)} lines with {anchor!r}"
        if how == "after":
            lines.insert(found[0] + 1, text)
        else:
            lines[found[0]] = f"{lines[found[0]].rstrip()} {text}"
        file.write_text("".join(lines), encoding="utf-8")
    assert touched, "the recipe has no blocks"
    return touched


def compiler(build, tree):
    """The command that checks a file as the program's own files are compiled, with the options of
    the room that uses all others. What lies in the tree stands for the file of that name."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    entry = next(each for each in commands if "/onceguard_room_cli.dir/" in each["command"])
    words = shlex.split(entry["command"])
    del words[words.index("-o"):words.index("-o") + 2]
    del words[words.index("-c"):words.index("-c") + 2]
    copied = [f"-I{tree}/{folder}" for folder in ("include", "src")]
    # A function without a declaration is one that nobody would find.
    strict = "-Wmissing-prototypes" if "clang" in words[0] else "-Wmissing-declarations"
    return [words[0], *copied, *words[1:], strict, "-fsyntax-only"], entry["directory"]


@pytest.fixture
def tree(tmp_path):
    for folder in ("cmake", "tools", "docs/internals"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_builds(name, tree, onceguard):
    recipe = RECIPES[name]
    touched = follow(recipe, tree)
    for listed in COMPILED.findall(recipe):
        touched += re.findall(r"`(.+?)`", listed)
    sources = sorted({path for path in touched if path.endswith(".cpp")})
    assert sources, "nothing is compiled"
    command, folder = compiler(onceguard.parent, tree)

    def check(source):
        file = tree / source if (tree / source).exists() else ROOT / source
        return source, subprocess.run([*command, str(file)], cwd=folder, check=False,
                                      capture_output=True, text=True, timeout=300)

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for source, done in pool.map(check, sources):
            assert done.returncode == 0, f"{source}\n{done.stderr}"
    # The list of rooms is in order, and the picture can be drawn anew.
    subprocess.run(["python3", "tools/rooms.py", "--write"], cwd=tree, check=True, timeout=60)


def test_there_is_a_recipe_for_what_is_added_often():
    assert set(TWO_PLACES) | {"A store", "A broker"} <= set(RECIPES)


@pytest.mark.parametrize("name", TWO_PLACES)
def test_what_is_added_often_has_two_places_at_most(name):
    assert 1 <= len(BLOCK.findall(RECIPES[name])) <= 2


def test_the_sender_of_the_recipe_is_one_that_users_could_write(onceguard, tmp_path):
    (table,) = [text for path, _, _, text in BLOCK.findall(RECIPES["A webhook sender"])
                if path.endswith("presets.cpp")]
    (tmp_path / "onceguard.toml").write_text(
        '[[upstream]]\nname = "shop"\nurl = "http://127.0.0.1:9"\n' + table, encoding="utf-8")
    done = subprocess.run([onceguard, "check", "--config", "onceguard.toml"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
