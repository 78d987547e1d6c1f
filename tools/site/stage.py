"""Lays out the pages of the site in a folder, as mkdocs reads them.

    stage.py ROOT FOLDER

The pages are those of the repository. What differs: the README is the first page; each event of
docs/events.md has a page of its own; sources that a page links to become pages, as a site has no
repository around it. The navigation is the table of docs/README.md. Writes FOLDER/pages and
FOLDER/mkdocs.yml."""
import os
import re
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import markdown_text
from events import event_pages

# Pages of the repository that have another name in the site.
MOVED = {"README.md": "index.md", "docs/README.md": "all-pages.md",
         "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md",
         "SECURITY.md": "security.md", "docs/events.md": "events/README.md"}
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".js": "javascript",
             ".mjs": "javascript", ".json": "json", ".toml": "toml", ".sql": "sql", ".sh": "bash",
             ".go": "go", ".yml": "yaml", ".yaml": "yaml"}
COPIED = {".yml", ".yaml", ".json", ".css", ".png", ".svg"}  # of docs/: as they are
NOT_SHOWN = {"node_modules", "__pycache__", "package-lock.json"}


def staged_path(path):
    """Where a file of the repository stands in the site."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"sources/{path}" if path.endswith(".md") else f"sources/{path}.md"


ENTRY = re.compile(r" *(?:[-*]|\d+\.) ")
DESCRIBED_BLOCK = re.compile(r"(```+)(\w+) (.+)")


def in_markdown_of_mkdocs(text):
    """Python-Markdown wants a blank line before a list or a table, which other readers can do
    without, four columns for what belongs to an entry of a list, and a block's language alone."""
    made, before = [], ""
    in_list = False
    for _, line, prose in markdown_text.lines_outside_blocks(text):
        begins = bool(prose and ENTRY.match(line))
        row = prose and line.startswith("|")
        if before.strip() and (begins and not in_list or row and not before.startswith("|")):
            made.append("")
        in_list = begins or in_list and (not line.strip() or line.startswith(" "))
        if row:
            line = markdown_text.CODE.sub(lambda code: code[0].replace("\\|", "|"), line)
        indent = len(line) - len(line.lstrip())
        if in_list and indent in (2, 3):
            line = " " * (4 - indent) + line
        described = DESCRIBED_BLOCK.fullmatch(line)
        if described:
            made.append(f"\n`{described[3]}`")
            line = described[1] + described[2]
        made.append(line)
        before = line
    return "\n".join(made) + "\n"


class Site:
    def __init__(self, root, folder):
        self.root = root
        self.pages = folder / "pages"
        self.written = set()
        self.waiting = []

    def write(self, path, text):
        file = self.pages / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.written.add(path)

    def copy(self, path):
        """A file of docs/ as it is: a picture, or one to be downloaded."""
        copied = path.removeprefix("docs/")
        file = self.pages / copied
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((self.root / path).read_bytes())
        self.written.add(copied)

    def add(self, path):
        """A file of the repository, and what it links to."""
        if staged_path(path) not in self.written:
            self.written.add(staged_path(path))
            self.waiting.append(path)

    def add_all(self, paths):
        for path in paths:
            self.add(path)
        while self.waiting:
            path = self.waiting.pop()
            if path.endswith(".md"):
                self.write(staged_path(path), self.page(path))
            else:
                self.write(staged_path(path), source_page(self.root, path))

    def page(self, path):
        text = (self.root / path).read_text(encoding="utf-8")
        if path == "docs/events.md":
            text, others = event_pages(text, self.root)
            for name, page in others.items():
                self.write(f"events/{name}.md", self.linked(page, path))
        return self.linked(text, path)

    def linked(self, text, path):
        """The text of a page with its links as the site has them."""
        def change(target):
            return self.target_in_site(path, target)
        return in_markdown_of_mkdocs(markdown_text.with_links(text, change))

    def target_in_site(self, path, target):
        if re.match(r"[a-z]+:|#", target):
            return target
        name, _, anchor = target.partition("#")
        found = os.path.normpath(os.path.join(os.path.dirname(path), name))
        here = os.path.dirname(staged_path(path))
        if found.startswith("docs/events/"):
            return os.path.relpath(staged_path(found), here)
        if found.startswith("docs/") and Path(found).suffix in COPIED:
            self.copy(found)
            return os.path.relpath(found.removeprefix("docs/"), here)
        if (self.root / found).is_dir():
            readme = f"{found}/README.md"
            found = readme if (self.root / readme).exists() else found
        self.add(found)
        return os.path.relpath(staged_path(found), here) + (f"#{anchor}" if anchor else "")


def source_page(root, path):
    """A page that shows a file, or the files of a folder."""
    files = [path]
    if (root / path).is_dir():
        files = sorted(file.relative_to(root).as_posix() for file in (root / path).rglob("*")
                       if file.is_file() and not NOT_SHOWN & set(file.parts))
    text = f"# {path}\n"
    for file in files:
        shown = (root / file).read_text(encoding="utf-8")
        language = LANGUAGES.get(Path(file).suffix, "text")
        heading = f"\n## {Path(file).relative_to(path)}\n" if file != path else ""
        text += f"{heading}\n````{language}\n{shown.rstrip()}\n````\n"
    return text


def title_of(root, path):
    text = (root / path).read_text(encoding="utf-8")
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]


def navigation(root):
    """The sections of docs/README.md with the pages that their tables name, in their order."""
    made = [{"Onceguard": ["index.md", "all-pages.md"]}]
    listed = (root / "docs/README.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", listed, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        pages = []
        for target in re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", body, re.MULTILINE):
            path = os.path.normpath(f"docs/{target}")
            pages.append({title_of(root, path): staged_path(path)})
        made.append({title.strip(): pages})
    return made


def with_problem_pages(root, sections):
    """The page of problems becomes a folder of the navigation."""
    for section in sections:
        for pages in section.values():
            for number, page in enumerate(pages):
                if isinstance(page, dict) and "problems/README.md" in page.values():
                    names = sorted(file.name for file in (root / "docs/problems").glob("*.md"))
                    names.remove("README.md")
                    title = next(iter(page))
                    pages[number] = {title: ["problems/README.md",
                                             *(f"problems/{name}" for name in names)]}
    return sections


def main(root, folder):
    site = Site(root, folder)
    documents = sorted((root / "docs").rglob("*.md"))
    site.add_all([*MOVED, *(file.relative_to(root).as_posix() for file in documents)])
    settings = yaml.safe_load((root / "tools/site/mkdocs.yml").read_text(encoding="utf-8"))
    settings["nav"] = with_problem_pages(root, navigation(root))
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False, width=100)
                                       .replace("slugify: gfm", "slugify: " + SLUGS))
    print(f"{len(site.written)} pages")


# The anchors are those that the links of the pages name.
SLUGS = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"

if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
