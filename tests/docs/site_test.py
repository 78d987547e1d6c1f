"""The site: `./dev site` builds it, and its check finds what is wrong in it."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools/site/check.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([ROOT / "tools/site/build.sh", folder], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def check(folder, *arguments):
    done = subprocess.run(["/usr/bin/python3", CHECK, folder, *arguments], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_each_problem_and_each_event_has_a_page_that_its_list_links_to(built):
    events = re.findall(r"^\| `([\w-]+)`", (ROOT / "docs/events.md").read_text(), re.MULTILINE)
    listed = (built / "events/index.html").read_text()
    assert len(events) > 100
    for event in events:
        assert f'href="{event}.html"' in listed
        assert f"<h1 id=\"{event}\">" in (built / f"events/{event}.html").read_text()
    problems = (built / "problems/index.html").read_text()
    for page in (ROOT / "docs/problems").glob("*.md"):
        if page.stem != "README":
            assert f'href="{page.stem}.html"' in problems


def test_an_event_page_says_what_to_do_and_where_more_stands(built):
    page = (built / "events/outcome-unknown.html").read_text()
    assert "onceguard keys complete" in page
    assert "../operations.html" in page


def test_the_navigation_is_the_table_of_the_documentation(built):
    sections = re.findall(r"^## (.+)", (ROOT / "docs/README.md").read_text(), re.MULTILINE)
    home = (built / "index.html").read_text()
    shown = re.findall(r'<label class="md-nav__link" for="__nav_\d+"[^>]*>\s*([^<]+?)\s*<', home)
    assert shown == ["Onceguard", *sections]
    listed = (ROOT / "docs/README.md").read_text()
    for target in re.findall(r"^\| \[[^]]+\]\(([a-z-]+)\.md\)", listed, re.MULTILINE):
        link = rf'href="{target}(\.html|/index\.html)" class="md-nav__link"'
        assert re.search(link, home), target
    assert 'href="backup/index.html" class="md-nav__link"' in home


def test_each_page_of_the_documentation_is_listed():
    """A page that no table names is one that nobody finds."""
    listed = (ROOT / "docs/README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in listed, page


def test_the_search_knows_the_pages(built):
    index = json.loads((built / "search/search_index.json").read_text())
    assert {"problems/outcome-unknown.html", "events/store-away.html", "guarantees.html"} <= {
        entry["location"] for entry in index["docs"]}


FAULTS = [
    ('<a href="nowhere.html">x</a>', "leads nowhere"),
    ('<a href="guarantees.html#nothing">x</a>', "no such anchor"),
    ('<a href="#nothing">x</a>', "no such anchor"),
    ('<a href="/guarantees.html">x</a>', "not relative"),
    ('<script src="https://cdn.example/a.js"></script>', "loaded from elsewhere"),
    ('<link rel="stylesheet" href="//fonts.example/a.css">', "loaded from elsewhere"),
    ('<img src="http://images.example/a.png">', "loaded from elsewhere"),
    ('<pre class="mermaid">a --> b</pre>', "loaded from elsewhere"),
    ("<p>| a | b |</p>", "Markdown in the text"),
]


@pytest.mark.parametrize("fault,reported", FAULTS)
def test_the_check_finds(built, tmp_path, fault, reported):
    shutil.copy(built / "guarantees.html", tmp_path)
    (tmp_path / "a.html").write_text(f"<html><body>{fault}</body></html>")
    code, output = check(tmp_path)
    assert code == 1
    assert re.search(rf"^a\.html: {reported}", output, re.MULTILINE)


def test_links_to_other_hosts_are_collected_to_be_asked(tmp_path):
    (tmp_path / "a.html").write_text('<a href="https://example.com/?a=1&amp;b=2">x</a>')
    assert check(tmp_path, "--external")[0] == 0
    assert 'href="https://example.com/?a=1&amp;b=2"' in (tmp_path / "external.html").read_text()
