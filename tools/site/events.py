"""A page for each event of docs/events.md."""
import re

LEVELS = {"debug": "of interest to who looks for a fault", "info": "in order",
          "warning": "worth a look", "error": "somebody has to act"}
ROW = re.compile(r"^\| `([\w-]+)`( \*r\*)? \| (\w+) \| ([^|]*) \| (.+) \|$", re.MULTILINE)


def event_pages(text, root):
    """The page of events with a link to each, and (name, page) of each event."""
    intro, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    mentions = pages_that_mention(root)
    pages = {}
    listed = intro
    for section in sections:
        title, _, rows = section.partition("\n")
        for name, limited, level, fields, meaning in ROW.findall(rows):
            pages[name] = event_page(name, title, (limited, level, fields, meaning),
                                     mentions.get(name, []))
        listed += f"## {title}\n" + ROW.sub(
            lambda row: f"| [`{row[1]}`](events/{row[1]}.md){row[2] or ''} | {row[3]} | {row[4]} "
                        f"| {with_documents(row[5])} |", rows)
    return listed, pages


def event_page(name, section, row, mentioned_in):
    limited, level, fields, meaning = row
    text = f"# {name}\n\n| level | fields | of |\n| --- | --- | --- |\n"
    named = " ".join(f"`{field}`" for field in fields.split()) or "none"
    text += f"| {level}: {LEVELS[level]} | {named} | [{section}](events.md) |\n\n"
    text += f"## What it means, and what to do\n{with_documents(meaning)}\n"
    if limited:
        text += ("\nIt may come with each request of an outage: lines beyond 20 a second are left "
                 "out,\nand [`lines-left-out`](events/lines-left-out.md) says how many.\n")
    if mentioned_in:
        text += "\n## Where else it is explained\n"
        text += "".join(f"- [{title}]({page})\n" for page, title in mentioned_in)
    return text


def with_documents(text):
    """Names of pages (docs/http.md) as links."""
    return re.sub(r"\bdocs/([\w/-]+\.md)\b", r"[\1](\1)", text)


def pages_that_mention(root):
    """For each word in code: the pages of docs/ that have it, but for those of contributors."""
    found = {}
    for page in sorted((root / "docs").rglob("*.md")):
        path = page.relative_to(root / "docs").as_posix()
        if path == "events.md" or path.startswith(("decisions/", "internals/")):
            continue
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
        for word in set(re.findall(r"`([\w-]+)`", text)):
            found.setdefault(word, []).append((path, title))
    return found
