"""Where the members of a class are defined: in the file that has the name of its header, or in one
whose name begins with it (stdio_session.hpp: stdio_session.cpp, stdio_session_messages.cpp)."""
import re

DECLARED = re.compile(
    r"^(?:class|struct) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: :[^;{]*)?\s*\{", re.MULTILINE)
DEFINED = re.compile(r"^[\w:<>*&, \[\]]*?\b(\w+)::~?\w+\(", re.MULTILINE)


def misplaced(root):
    """(path, line, class, header) of the first member of a class in a file of another name."""
    declared = {}
    for header in sorted((root / "src").rglob("*.hpp")):
        for name in DECLARED.findall(header.read_text(encoding="utf-8")):
            declared.setdefault((header.parent, name), []).append(header.stem)
    for source in sorted((root / "src").rglob("*.cpp")):
        text, known = source.read_text(encoding="utf-8"), set()
        for found in DEFINED.finditer(text):
            name = found.group(1)
            headers = declared.get((source.parent, name), [])
            fits = any(f"{source.stem}_".startswith(f"{stem}_") for stem in headers)
            if headers and not fits and name not in known:
                known.add(name)
                yield (source.relative_to(root).as_posix(),
                       text.count("\n", 0, found.start()) + 1, name, headers[0])
