"""What a page of Markdown says to other pages: its anchors, and the links in it. The rules are
those of the hosts that show a repository's pages: what is in code is no link, and a heading's
anchor is its text in small letters without punctuation."""
import re
import string
from pathlib import Path

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
DROPPED = str.maketrans("", "", string.punctuation.replace("-", "").replace("_", ""))


def lines_outside_blocks(text):
    """Each line with its number, and whether it is prose: no part of a block of code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and line.strip() == fence:
            fence = ""
            yield number, line, False
            continue
        yield number, line, not fence


def slug(heading):
    """The anchor of a heading."""
    shown = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return shown.strip().lower().translate(DROPPED).replace(" ", "-")


def anchors(text):
    """All anchors of a page; a heading that stands there again has a number."""
    found, seen = set(), {}
    for _, line, prose in lines_outside_blocks(text):
        heading = re.match(r"#{1,6} +(.*?)(?: +#+)? *$", line) if prose else None
        if heading:
            name = slug(heading[1])
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
        if prose:
            found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def links(text):
    """(line number, target) of each link of a page."""
    for number, line, prose in lines_outside_blocks(text):
        if prose:
            blank = CODE.sub(lambda code: " " * len(code[0]), line)
            for target in LINK.findall(blank):
                yield number, target


def with_links(text, change):
    """The text with each target of a link replaced by what `change(target)` returns."""
    made = []
    for _, line, prose in lines_outside_blocks(text):
        if prose:
            blank = CODE.sub(lambda code: " " * len(code[0]), line)
            for found in reversed(list(LINK.finditer(blank))):
                line = line[:found.start()] + change(found[0]) + line[found.end():]
        made.append(line)
    return "\n".join(made) + "\n"


class Pages:
    """The pages of a tree, of which each is read once."""

    def __init__(self, root):
        self.root = Path(root)
        self._anchors = {}

    def fault(self, page, target):
        """What is wrong with a link of a page (a path below the root), or nothing."""
        if re.match(r"[a-z]+:", target):
            return None
        path, _, anchor = target.partition("#")
        if path.startswith("/"):
            return f"the link is not relative: {target}"
        file = self.root / page
        if path:
            file = file.parent / path
        if not file.exists():
            return f"the link leads nowhere: {target}"
        if anchor and file.is_dir():
            return f"a folder has no anchors: {target}"
        if anchor and anchor not in self.anchors_of(file):
            return f"no heading has this anchor: {target}"
        return None

    def anchors_of(self, file):
        file = file.resolve()
        if file not in self._anchors:
            self._anchors[file] = anchors(file.read_text(encoding="utf-8"))
        return self._anchors[file]
