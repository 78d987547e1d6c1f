"""The Node.js that other people's clients and servers run on: newer than Debian's, from npm."""

import pathlib

TESTS = pathlib.Path(__file__).resolve().parent.parent


def _find():
    found = sorted((TESTS / "node_modules").glob("node-linux-*/bin/node"))
    return str(found[0]) if found else "node"


NODE = _find()
