#!/usr/bin/env python3
"""Checks the pages of a site: each link leads to a page and to an anchor of it, nothing is loaded
from another host, and no Markdown is left in the text.

    check.py FOLDER              exit code 1 when something is wrong
    check.py FOLDER --external   writes FOLDER/external.html: all links that lead to other hosts
"""
import html
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src",
          "audio": "src", "embed": "src", "object": "data"}
LOADED_RELATIONS = {"stylesheet", "icon", "preconnect", "preload", "prefetch", "manifest",
                    "dns-prefetch"}
LEFT_OVER = re.compile(r"```|^\|[ -]|\]\([^)\s]+\)", re.MULTILINE)
CODE_TAGS = {"code", "pre", "script", "style"}


class Page(HTMLParser):
    """The anchors, links and loaded files of a page, and its text outside code."""

    def __init__(self, file):
        super().__init__()
        self.ids, self.links, self.loaded, self.text = set(), [], [], []
        self._code = 0
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("id", "name") if tag == "a" else ("id",):
            if values.get(name):
                self.ids.add(values[name])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and LOADED_RELATIONS & set((values.get("rel") or "").split()):
            self.loaded.append(values.get("href") or "")
        if tag in LOADED and values.get(LOADED[tag]):
            self.loaded.append(values[LOADED[tag]])
        if "mermaid" in (values.get("class") or "").split(): # the theme fetches its renderer
            self.loaded.append("https://unpkg.com/mermaid")
        self._code += tag in CODE_TAGS

    def handle_endtag(self, tag):
        self._code -= tag in CODE_TAGS

    def handle_data(self, data):
        if not self._code:
            self.text.append(data)


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pages = {file.resolve(): Page(file) for file in sorted(folder.rglob("*.html"))}
        self.external = {}

    def faults(self):
        for file, page in self.pages.items():
            name = file.relative_to(self.folder)
            for target in page.links + page.loaded:
                fault = self.fault(file, page, target, target in page.loaded)
                if fault:
                    yield f"{name}: {fault}: {target}"
            for left in LEFT_OVER.findall("".join(page.text)):
                yield f"{name}: Markdown in the text: {left}"
        for sheet in sorted(self.folder.rglob("*.css")):
            for target in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)",
                                     sheet.read_text(encoding="utf-8")):
                yield f"{sheet.relative_to(self.folder)}: loaded from elsewhere: {target}"

    def fault(self, file, page, target, loaded):
        parts = urlsplit(target)
        if parts.scheme in ("http", "https") or parts.netloc:
            if loaded:
                return "loaded from elsewhere"
            self.external.setdefault(target, file)
            return None
        if parts.scheme:
            return None if parts.scheme in ("mailto", "data") else "an unknown scheme"
        path = unquote(parts.path)
        if path.startswith("/"):
            # The page for what is not found is the only one that does not know where it stands.
            return None if file.name == "404.html" else "not relative"
        other = (file.parent / path).resolve() if path else file
        if other.is_dir():
            other /= "index.html"
        if not other.is_file():
            return "leads nowhere"
        anchor = unquote(parts.fragment)
        if anchor and other in self.pages and anchor not in self.pages[other].ids:
            return "no such anchor"
        return None


def main(arguments):
    folder = Path(arguments[0]).resolve()
    site = Site(folder)
    faults = sorted(set(site.faults()))
    for fault in faults:
        print(fault)
    if not site.pages:
        faults.append("no pages")
    if "--external" in arguments:
        shown = "".join(f'<a href="{html.escape(target)}">{file.name}</a>\n'
                        for target, file in sorted(site.external.items()))
        (folder / "external.html").write_text(f"<html><body>\n{shown}</body></html>\n")
    print(f"{len(site.pages)} pages, {len(site.external)} links to other hosts, "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
