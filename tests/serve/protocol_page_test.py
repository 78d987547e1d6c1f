"""The page of the protocol and its OpenAPI document name the same words."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/protocol.md").read_text()
DOCUMENT = json.loads((ROOT / "src/serve/openapi.json").read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]


def first_column(heading):
    """The words of the first column of the table below such a head of a table."""
    rows = PAGE.split(f"\n| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return {word for row in rows for word in re.findall(r"`([\w/-]+)`", row.split("|")[1])}


def words_of(union):
    return set(SCHEMAS[union]["discriminator"]["mapping"])


@pytest.mark.parametrize("heading, known", [
    ("member of `request`", set(SCHEMAS["Request"]["properties"])),
    ("verdict", words_of("Verdict")),
    ("outcome", words_of("Outcome")),
    ("kind", {path.rsplit("/", 1)[1] for path in DOCUMENT["paths"] if "{operation}" in path}),
])
def test_a_table_has_the_words_of_the_document(heading, known):
    # Of bytes that are no text, the page says it once for all bodies.
    assert first_column(heading) == known - {"body_base64"}


def test_each_member_of_a_claim_and_of_what_may_run_is_on_the_page():
    for name in ("Claim", "Run", "Complete", "Fail", "Batch", "BatchResults"):
        for member in SCHEMAS[name]["properties"]:
            assert re.search(rf"[`\"]{member}[`\":]", PAGE), member


def test_each_refusal_is_on_the_page():
    said = SCHEMAS["Problem"]["properties"]["type"]["description"]
    types = set(re.findall(r"`([\w-]+)`", said))
    refusals = PAGE.split("## Refusals of the service itself", 1)[1].split("\n## ", 1)[0]
    assert types <= set(re.findall(r"`([\w-]+)`", refusals))
