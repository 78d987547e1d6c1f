"""The programs of docs/clients.md, run as they stand there through a network that loses answers."""

import os
import re
import subprocess
import sys

import pytest

from support.documented import DOCS
from support.losing_network import LosingNetwork
from support.node import NODE, TESTS

PAGE = (DOCS / "clients.md").read_text(encoding="utf-8")
RUN, NOT_RUN = PAGE.split("\n# Run by the tests\n")[1].split("\n# Not run by the tests\n")
CONFIG = {"route": [{"path": "/v1", "profile": "stripe"}, {"path": "/"}]}


def programs(part):
    """Title, language and text of each program."""
    return re.findall(r"^## ([^\n]+)\n```(\w+)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)


TITLES = [title for title, _, _ in programs(RUN)]


def run(title, language, text, url, key, onceguard, folder):
    environment = {**os.environ, "SHOP_URL": url, "ORDER_KEY": key,
                   "PATH": f"{onceguard.parent}:{os.environ['PATH']}"}
    if title.startswith("Stripe"):
        environment["SHOP_URL"] = url.removesuffix("/orders")
    command = {"js": [NODE, "--input-type=module", "--eval", text],
               "python": [sys.executable, "-c", text], "sh": ["sh", "-euc", text]}[language]
    # Node looks for packages where it stands.
    return subprocess.run(command, cwd=TESTS if language == "js" else folder, env=environment,
                          capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("title, language, text", programs(RUN), ids=TITLES)
def test_an_order_is_there_once(start_gateway, own_upstream, onceguard, tmp_path, key, title,
                                language, text):
    gateway = start_gateway(own_upstream, CONFIG)
    with LosingNetwork(gateway.address, loses=lambda number: number < 2) as network:
        done = run(title, language, text, f"{network.url}/orders", key, onceguard, tmp_path)
        assert network.lost == 2
    assert done.returncode == 0, done
    assert '"effect": 1' in done.stdout or '"effect":1' in done.stdout, done
    assert "201" in done.stdout + done.stderr, done
    assert own_upstream.effects() in ({key: 1}, {f'"{key}"': 1})


@pytest.mark.parametrize("title, language, text", programs(RUN)[:1], ids=TITLES[:1])
def test_without_the_gateway_it_is_there_three_times(own_upstream, onceguard, tmp_path, key,
                                                     title, language, text):
    with LosingNetwork(own_upstream.address, loses=lambda number: number < 2) as network:
        run(title, language, text, f"{network.url}/orders", key, onceguard, tmp_path)
    assert sum(own_upstream.effects().values()) == 3


def test_every_program_stands_under_its_heading():
    assert len(programs(RUN)) == RUN.count("\n## ") == 8
    assert [title for title, _, _ in programs(NOT_RUN)] == ["Polly (.NET)", "resilience4j (Java)"]


def test_every_problem_is_in_the_table():
    table = PAGE.split("\n# Run by the tests\n")[0]
    for page in (DOCS / "problems").glob("*.md"):
        assert page.name == "README.md" or f"problems/{page.name}" in table, page.name
