"""The licences of a Debian package, as SPDX names them, from its copyright file."""
import re
from pathlib import Path

# Short names of the machine-readable form (DEP-5) that SPDX has others for; without the version,
# which `with_version` adds.
NAMES = {
    "expat": "MIT", "mit": "MIT", "x11": "X11", "zlib": "Zlib", "bsl-1.0": "BSL-1.0",
    "boost-1.0": "BSL-1.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "bsd-2-clauses": "BSD-2-Clause", "bsd-4-clause": "BSD-4-Clause", "bsd-1-clause": "BSD-1-Clause",
    "bsd-4-clause-uc": "BSD-4-Clause-UC", "bsd-3": "BSD-3-Clause", "bsd-2": "BSD-2-Clause",
    "isc": "ISC", "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "curl": "curl",
    "openssl": "OpenSSL", "postgresql": "PostgreSQL", "public-domain": None, "unicode": None,
    "artistic": "Artistic-1.0-Perl", "openldap-2.8": "OLDAP-2.8", "unlicense": "Unlicense",
    "cc0-1.0": "CC0-1.0", "cc0": "CC0-1.0", "0bsd": "0BSD", "mpl-1.1": "MPL-1.1",
    "mpl-2.0": "MPL-2.0", "ofl-1.1": "OFL-1.1", "python-2.0": "Python-2.0", "ncsa": "NCSA",
    "fsfap": "FSFAP", "bsd-3-clause-uc": "BSD-3-Clause", "cc-by-4.0": "CC-BY-4.0",
}
GNU = re.compile(r"(AGPL|LGPL|GPL|GFDL)-?v?(\d(?:\.\d)?)(\+)?", re.IGNORECASE)


def spdx_name(name):
    """The identifier of SPDX for a short name of Debian; None if there is none."""
    gnu = GNU.fullmatch(name)
    if gnu:
        version = gnu[2] if "." in gnu[2] else gnu[2] + ".0"
        return f"{gnu[1].upper()}-{version}-{'or-later' if gnu[3] else 'only'}"
    return NAMES.get(name.lower())


class Licences:
    """Expressions of SPDX. What it has no name for becomes a reference with its text."""

    def __init__(self):
        self.texts = {}  # of each reference: (its name, its text)

    def of(self, package, file):
        """The expression for a package with this copyright file."""
        if not Path(file).exists():
            return "NOASSERTION"
        text = Path(file).read_text(encoding="utf-8", errors="replace")
        paragraphs = [fields(each) for each in re.split(r"\n\s*\n", text)]
        if not re.search(r"^Format:.*copyright-format", text, re.MULTILINE):
            return self._reference(package, "copyright", text)
        known = {}
        for each in paragraphs:
            name, _, body = each.get("License", "").partition("\n")
            if name and body:
                known.setdefault(name.strip(), body)
        named = sorted({each["License"].split("\n")[0].strip() for each in paragraphs
                        if "Files" in each and each.get("License")})
        made = {self._expression(package, name, known) for name in named if name}
        return all_of(made) if made else self._reference(package, "copyright", text)

    def _expression(self, package, line, known):
        """A line such as `GPL-2+ or MIT, and BSD-3-clause`: a comma binds least, `and` more than
        `or`, as in SPDX. One with an exception, or with other words, is kept as it is."""
        if line in known and spdx_name(line) is None:
            return self._reference(package, line, known[line])
        pieces = re.split(r"( +and +| +or +)", line, flags=re.IGNORECASE)
        if any(" " in name.rstrip(",") for name in pieces[::2]):
            return self._reference(package, line, known.get(line, line))
        made, group = "", ""
        for name, word in zip(pieces[::2], [*pieces[1::2], ""]):
            plain = name.strip(" ,")
            group += spdx_name(plain) or self._reference(package, plain, known.get(plain, plain))
            operator = f" {word.strip().upper()} " if word else ""
            if name.endswith(",") and word:
                made += in_parentheses(group) + operator
                group = ""
            else:
                group += operator
        return made + (in_parentheses(group) if made else group)

    def _reference(self, package, name, text):
        made = re.sub(r"[^A-Za-z0-9.]+", "-", f"{package}-{name}").strip("-")
        made = f"LicenseRef-{made}"
        self.texts[made] = (name, dedented(text))
        return made


def in_parentheses(expression):
    return f"({expression})" if " OR " in expression or " AND " in expression else expression


def all_of(expressions):
    """All of these licences, each named once."""
    names = set()
    for each in expressions:
        names |= {f"({each})"} if " OR " in each else set(each.split(" AND "))
    made = " AND ".join(sorted(names))
    return made[1:-1] if len(names) == 1 and made.startswith("(") else made


def fields(paragraph):
    """The fields of a paragraph of Debian's control form."""
    found, last = {}, None
    for line in paragraph.splitlines():
        if line[:1] in (" ", "\t"):
            if last:
                found[last] += "\n" + line
        elif ":" in line and not line.startswith("#"):
            last, _, value = line.partition(":")
            found[last] = value.strip()
    return found


def dedented(text):
    lines = [line[1:] if line.startswith(" ") else line for line in text.splitlines()]
    return "\n".join("" if line == "." else line for line in lines).strip()
