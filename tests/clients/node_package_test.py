"""The client for Node as a package: its own tests, its types, its files."""

import pathlib
import subprocess

from clients.node_programs import CLIENT, MODULES, project

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          timeout=300, check=False)


def test_its_own_tests():
    done = run("node", "--test", *sorted((CLIENT / "test").glob("*_test.js")))
    assert done.returncode == 0, done.stdout[max(done.stdout.find("\nnot ok"), 0):][:6000]
    assert "\n# fail 0" in done.stdout and "\n# pass 0" not in done.stdout


def test_its_types(tmp_path):
    """In both kinds of modules. What must not compile is marked so in the file."""
    project(tmp_path, {"@types/node": "@types/node", "undici-types": "undici-types"})
    names = ["types.mts", "types.cts"]
    for name in names:
        (tmp_path / name).write_text((HERE / "node_types.ts").read_text())
    done = run("node", MODULES / "typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022",
               "--module", "nodenext", "--preserveSymlinks", *names, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_both_kinds_of_modules_and_the_packed_files(tmp_path):
    packed = run("npm", "pack", "--json", "--pack-destination", tmp_path, CLIENT)
    assert packed.returncode == 0, packed.stderr
    archive = next(tmp_path.glob("onceguard-0.2.0.tgz"))
    installed = run("npm", "install", "--offline", "--no-audit", "--prefix", tmp_path, archive)
    assert installed.returncode == 0, installed.stderr
    names = "Object.keys(x).filter((name) => name !== 'default').sort().join()"
    required = run("node", "-p", f"const x = require('onceguard'); {names}", cwd=tmp_path)
    imported = run("node", "--input-type=module", "-e",
                   f"import * as x from 'onceguard'; console.log({names})", cwd=tmp_path)
    assert required.stdout == imported.stdout == \
        "NotDone,Refused,TryLater,Unreachable,connect,keepRawBody\n", (required, imported)
