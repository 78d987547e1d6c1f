"""Published middlewares for Node under the kit: docs/conformance.md lists the results."""

import json
import pathlib
import sys

import pytest

from support.conformance import Kit

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PAGE = ROOT / "docs/conformance.md"
PEERS = {"express-idempotency": "express_idempotency.mjs",
         "@node-idempotency/core": "node_idempotency.mjs"}
QUICK = ("--jobs", "4", "--long-work", "3")
BEGIN, END = "<!-- peers: begin -->\n", "<!-- peers: end -->\n"


def version_of(package):
    installed = ROOT / "tests/node_modules" / package / "package.json"
    assert installed.is_file(), "run npm install in tests first"
    return json.loads(installed.read_text())["version"]


@pytest.fixture(scope="module")
def peers(onceguard, start_service):
    return {package: Kit(onceguard, start_service("node", HERE / program)).report(*QUICK)
            for package, program in PEERS.items()}


def results(report):
    """For each case, whether each of its variants passed."""
    found = {}
    for case in report["cases"]:
        found.setdefault(case["name"].split("/")[0], []).append(case["passed"])
    return found


def cell(passed):
    if all(passed) or not any(passed):
        return "yes" if all(passed) else "no"
    return f"{sum(passed)} of {len(passed)}"


def table(peers):
    says = {case["name"]: case["says"] for case in
            json.loads((ROOT / "src/conformance/cases.json").read_text())["cases"]}
    heads = [f"{package} {version_of(package)}" for package in peers]
    found = [results(report) for report in peers.values()]
    lines = [f"| case | rule | {' | '.join(heads)} |", "| --- " * (2 + len(heads)) + "|"]
    for name in found[0]:
        cells = " | ".join(cell(one[name]) for one in found)
        lines.append(f"| `{name}` | {says[name]} | {cells} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_what_the_peers_do(peers):
    shown = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    assert shown == table(peers), "the table is to be:\n" + table(peers)


def test_the_peers_replay_and_still_differ(peers):
    for report in peers.values():
        found = results(report)
        assert found["repeat"] == [True]
        assert not all(found["another-request"])


def test_a_right_middleware_in_flask_is_not_blamed(kit, start_service):
    program = HERE / "flask_idempotency.py"
    flask = kit(start_service(sys.executable, program))
    assert flask.failed(*QUICK) == {}


def test_the_service_in_node_does_what_the_one_in_python_does(kit, service, start_service):
    in_node = kit(start_service("node", HERE / "unguarded.mjs"))
    assert set(in_node.failed(*QUICK)) == set(kit(service).failed(*QUICK))
