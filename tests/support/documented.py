"""What the documentation tells people to type."""

import pathlib

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"


def blocks(page, title):
    """The blocks of code of one section, as (language, text)."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    found = []
    for fenced in section.split("\n```")[1::2]:
        language, _, code = fenced.partition("\n")
        found.append((language, code))
    return found
