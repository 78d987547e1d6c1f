#!/usr/bin/env python3
"""The project's own rules, as a test: prints each breach as file:line and what to do instead.

Usage: tidy.py [--no-headers] [ROOT]; exit code 1 when something is wrong. Needs only the standard
library, and g++ to see that each public header compiles alone.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import class_files
import cpp_text
import markdown_text
import openapi_page
import rooms as house
import tidy_rules as rules


class Findings:
    """What is wrong, in the order in which it was found."""

    def __init__(self):
        self.lines = []
        self.used_exceptions = set()

    def add(self, path, line, what):
        self.lines.append(f"{path}:{line}: {what}")

    def excused(self, rule, path):
        """Is there an entry in the allow-list? Remembers that it is needed."""
        reasons = rules.ALLOWED.get(rule, {})
        for pattern in reasons:
            if path == pattern or (pattern.endswith("/") and path.startswith(pattern)):
                self.used_exceptions.add((rule, pattern))
                return True
        return False


def text_files(root):
    """Every file of the project that a person wrote, as paths relative to the root."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in rules.SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in rules.TEXT_SUFFIXES or name in rules.TEXT_NAMES:
                yield path.relative_to(root).as_posix()


# --- one check per function: (path, text, findings) ---------------------------------------------


def check_lines(path, text, findings):
    code = Path(path).suffix in rules.CODE_SUFFIXES or path == "dev"
    for number, line in enumerate(text.splitlines(), 1):
        if code and len(line) > rules.COLUMNS:
            findings.add(path, number, f"{len(line)} columns; {rules.COLUMNS} fit")
        if line != line.rstrip() and Path(path).suffix != ".md":
            findings.add(path, number, "white space at the end of the line")
    count = text.count("\n")
    if code and count > rules.FILE_LINES and not findings.excused("file", path):
        findings.add(path, count, f"{count} lines; split what has more than one purpose "
                                  f"(at most {rules.FILE_LINES})")


def check_functions(path, text, findings):
    if Path(path).suffix in (".cpp", ".hpp"):
        spans = cpp_text.functions(text)
    elif path.endswith(".py"):
        spans = cpp_text.python_functions(text)
    else:
        return
    for name, first, last in spans:
        if last - first + 1 > rules.FUNCTION_LINES:
            if not findings.excused("function", path) and \
                    not findings.excused("function", f"{path}#{name}"):
                findings.add(path, first, f"{name} has {last - first + 1} lines; name its steps "
                                          f"(at most {rules.FUNCTION_LINES})")


def check_banned(path, text, findings):
    bare = cpp_text.without_comments_and_strings(text) \
        if Path(path).suffix in (".cpp", ".hpp", ".c", ".h") else text
    for rule in rules.BANNED:
        if not rule.applies(path):
            continue
        source = text if rule.in_comments else bare
        for number, line in enumerate(source.splitlines(), 1):
            if rule.pattern.search(line) and not findings.excused(rule.name, path):
                findings.add(path, number, rule.instead)


def check_includes(rooms, path, text, findings):
    name = house.room_of(rooms, path)
    if name is None:
        if path.startswith("src/"):
            findings.add(path, 1, f"lies in no room: add its folder to {house.LIST}")
        return
    allowed = house.reachable(rooms, name)
    for number, line in enumerate(text.splitlines(), 1):
        quoted = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        angled = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        if quoted:
            other = house.room_of(rooms, "src/" + quoted.group(1))
            if name == "public":
                findings.add(path, number, "a public header includes public headers only")
            elif other is None:
                findings.add(path, number, f'"{quoted.group(1)}" is in no room; say its path '
                                           "from src/")
            elif other not in allowed:
                findings.add(path, number, f"{name} may not include {other}: see {house.LIST}")
        elif angled:
            check_outside(rooms[name], path, number, angled.group(1), findings)


def check_outside(room, path, number, header, findings):
    """Headers of outside libraries: what neither the language nor the system brings."""
    if "/" not in header and not re.search(rules.OUTSIDE_WITHOUT_FOLDER, header):
        return
    if header.startswith(("onceguard/", *rules.SYSTEM_FOLDERS)):
        return
    if not any(re.match(pattern, header) for pattern in room.includes) \
            and not findings.excused("outside", path):
        findings.add(path, number, f"<{header}> is not for the room {room.name}: see {house.LIST}")


# The name in a declaration: of a parameter, a variable or a member.
NOT_A_NOUN = re.compile(
    r"(?:^|[;{}(,:])\s*(?:(?:static|inline|constexpr|mutable|const|explicit)\s+)*"
    r"(?!(?:co_)?return\b|co_await\b|co_yield\b|case\b|else\b|throw\b|not\b|new\b|delete\b)"
    r"[A-Za-z_][\w:]*(?:<[^;{}()]*>)?(?:\s+const)?(?:\s*[&*]+\s*(?:const\s+)?|\s+)"
    r"((?:" + "|".join(rules.NOT_NOUNS) + r")_?)\s*(?=[,;={)\[]|:[^:])", re.MULTILINE)
BINDING = re.compile(r"\bauto\s*&{0,2}\s*\[([^\]]*)\]")
LUA_STRING_OR_COMMENT = re.compile(
    r"--\[\[.*?\]\]|--[^\n]*" r'|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
SQL_STRING_OR_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*|'(?:''|[^'])*'", re.DOTALL)
# Each alternative but that of the comment keeps a string from being taken for one.
COMMENT = {
    ".cpp": re.compile(r'"(?:\\.|[^"\\\n])*"|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL),
    ".lua": re.compile(r'"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'"
                       r"|(?P<comment>--\[\[.*?\]\]|--[^\n]*)", re.DOTALL),
    ".sql": re.compile(r"'(?:''|[^'])*'|(?P<comment>/\*.*?\*/|--[^\n]*)", re.DOTALL),
    ".py": re.compile(r'"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'|(?P<comment>#[^\n]*)"),
}
PYTHON_STRING_OR_COMMENT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])*'|#[^\n]*", re.DOTALL)


def unused_words(path, name):
    """The words of a name that are not used, and what is said instead."""
    for word in name.lower().split("_"):
        if word in rules.UNUSED_WORDS:
            yield word, rules.UNUSED_WORDS[word]
    # A test's name is a sentence.
    if path.endswith(".py") or path.startswith("tests/") and name.count("_") > 3:
        return
    for pattern, instead in rules.UNUSED_NAMES.items():
        if re.fullmatch(pattern, name.lower()):
            yield name, instead
    # A test may call the store that it made `own`.
    if re.fullmatch(rules.OWN, name.lower()) and not (path.startswith("tests/") and name == "own"):
        yield name, rules.OWN_INSTEAD


def without_strings(path, text):
    """The code of a file, with its lines: without strings and comments."""
    if path.endswith((".cpp", ".hpp")):
        return cpp_text.without_comments_and_strings(text)
    pattern = {".py": PYTHON_STRING_OR_COMMENT, ".lua": LUA_STRING_OR_COMMENT,
               ".sql": SQL_STRING_OR_COMMENT}[Path(path).suffix]
    return pattern.sub(lambda m: "\n" * m.group(0).count("\n"), text)


def check_words(path, text, findings):
    for number, line in enumerate(without_strings(path, text).splitlines(), 1):
        for name in set(re.findall(r"[A-Za-z_]\w*", line)):
            for word, instead in unused_words(path, name):
                if not findings.excused("word", path):
                    findings.add(path, number,
                                 f"{name}: not {word} but {instead} (docs/internals/words.md)")
    check_comments(path, text, findings)
    if path.endswith((".cpp", ".hpp")):
        check_nouns(path, text, findings)
    elif path.endswith(".py"):
        check_python_parameters(path, text, findings)


def check_comments(path, text, findings):
    """The words that are not used, in comments. (A string may say them to people.)"""
    for found in COMMENT.get(Path(path).suffix, COMMENT[".cpp"]).finditer(text):
        comment = found.group("comment")
        for word in set(re.findall(r"[a-z]+", comment or "")) & rules.UNUSED_WORDS.keys():
            if not findings.excused("comment", path):
                findings.add(path, text.count("\n", 0, found.start()) + 1,
                             f"{word}: {rules.UNUSED_WORDS[word]} (docs/internals/words.md)")


def check_nouns(path, text, findings):
    bare = cpp_text.without_comments_and_strings(text)
    names = [(m.group(1), m.start(1)) for m in NOT_A_NOUN.finditer(bare)]
    names += [(name.strip(), m.start()) for m in BINDING.finditer(bare)
              for name in m.group(1).split(",") if name.strip() in rules.NOT_NOUNS]
    for name, position in names:
        if not findings.excused("noun", path):
            findings.add(path, bare.count("\n", 0, position) + 1,
                         f"{name} is no noun: name what the parameter or variable is")


def check_python_parameters(path, text, findings):
    for line, name in cpp_text.python_parameters(text):
        if name.rstrip("_") in rules.PREPOSITIONS and not findings.excused("noun", path):
            findings.add(path, line, f"{name} is no noun: name what the parameter is")


def check_name(path, findings):
    stem = Path(path).stem
    if re.search(r"(?:^|[_-])(?:managers?|helpers?|utils?|utilities|v2)(?:[_-]|$)", stem):
        findings.add(path, 1, "name the file after the one thing that is in it")


# --- over the whole tree ------------------------------------------------------------------------


def check_problem_pages(root, findings):
    """Every problem type has a page, and every page a type."""
    catalogue = root / "src/http/problem.cpp"
    statuses = dict(rules.PROBLEM_TYPE.findall(catalogue.read_text()))
    types = set(statuses)
    if not types:
        findings.add("src/http/problem.cpp", 1, "no problem type was found in the catalogue")
    pages = {page.stem for page in (root / "docs/problems").glob("*.md")} - {"README"}
    for missing in sorted(types - pages):
        findings.add(f"docs/problems/{missing}.md", 1, "this problem type has no page")
    for name in sorted(types & pages):
        if f"\n| {statuses[name]}" not in (root / f"docs/problems/{name}.md").read_text():
            findings.add(f"docs/problems/{name}.md", 1, f"does not say status {statuses[name]}")
    for stray in sorted(pages - types):
        findings.add(f"docs/problems/{stray}.md", 1, "no problem type of that name")


def check_tests_have_targets(root, findings):
    """A test file outside the folders that tests/CMakeLists.txt builds would never run."""
    listing = (root / "tests/CMakeLists.txt").read_text()
    folders = set(re.findall(r"onceguard_room_tests\(\s*([\w/]+)", listing))
    for pattern in ("*_test.cpp", "*_contract.cpp"):
        for test in sorted((root / "tests").rglob(pattern)):
            if "node_modules" in test.parts:
                continue
            relative = test.relative_to(root / "tests")
            if relative.parent.as_posix() not in folders:
                findings.add(test.relative_to(root).as_posix(), 1,
                             "is in no target of tests/CMakeLists.txt")


def check_links(pages, path, text, findings):
    """Relative links of a page lead to a file, and to a heading of it if they name one."""
    for number, target in markdown_text.links(text):
        fault = pages.fault(path, target)
        if fault:
            findings.add(path, number, fault)


DOCUMENT = re.compile(r"(?<![\[`/\w])`?\bdocs/[\w/-]+\.(?:md|yml|json)\b")


def check_named_documents(root, path, text, findings):
    """A page of docs/ that a message, a comment or another page names is there."""
    for number, line in enumerate(text.splitlines(), 1):
        for named in DOCUMENT.findall(line):
            named = named.lstrip("`")
            if not (root / named).exists():
                findings.add(path, number, f"there is no {named}")


EVENT = re.compile(r'^EVENT\((\w+),\s*\w+,\s*\w+,((?:\s*"[^"]*")+)', re.M)
LOGGED = re.compile(r"\blog\(base::event::(\w+)(?:\s*,\s*\w[^{};]*)?,?\s*(\{(?:[^;]*)\})?\);")


def check_events(root, findings):
    """What is logged has the fields that the table of events names, and each event is logged."""
    table = "src/base/log_events.inc"
    if not (root / table).exists():
        return
    fields = {name: set("".join(re.findall(r'"([^"]*)"', listed)).split())
              for name, listed in EVENT.findall((root / table).read_text())}
    used = set()
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        text = path.read_text()
        used |= set(re.findall(r"event::(\w+)", text))
        for found in LOGGED.finditer(text):
            named = set(re.findall(r'\{\s*"(\w+)"\s*,', found.group(2) or ""))
            for stray in sorted(named - fields.get(found.group(1), set())):
                findings.add(path.relative_to(root).as_posix(),
                             text.count("\n", 0, found.start()) + 1,
                             f"the event {found.group(1)} has no field {stray}: see {table}")
    for unused in sorted(fields.keys() - used):
        findings.add(table, 1, f"the event {unused} is never logged")


NAMED_FILE = re.compile(r"`((?:src|include|tests|tools|cmake|bench)/[\w./-]*)`")


def check_internals(root, rooms, findings):
    """The picture is that of the rooms, and each source file that a page names is there."""
    page = root / house.PAGE
    if page.exists() and house.with_picture(page.read_text(), rooms) != page.read_text():
        findings.add(house.PAGE, 1, "the rooms have changed: tools/rooms.py --write")
    for path in sorted((root / "docs/internals").glob("*.md")):
        drawn = False  # the picture names each room's folder, also an empty one's
        for number, line in enumerate(path.read_text().splitlines(), 1):
            drawn = line + "\n" == house.BEGIN or drawn and line + "\n" != house.END
            for named in [] if drawn else NAMED_FILE.findall(line):
                if not (root / named).exists():
                    findings.add(path.relative_to(root).as_posix(), number, f"there is no {named}")


def check_openapi_page(root, findings):
    """The reference of the protocol is that of its document."""
    page = root / openapi_page.PAGE
    if not (root / openapi_page.DOCUMENT).exists():
        return
    if not page.exists() or page.read_text(encoding="utf-8") != openapi_page.page(root):
        findings.add(openapi_page.PAGE, 1,
                     "the document has changed: tools/openapi_page.py --write")


def check_headers_alone(root, findings):
    """Each public header compiles by itself, with nothing but include/ and the system."""
    def compiles(header):
        unit = f"#include <onceguard/{header.name}>\n"
        done = subprocess.run(
            [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
             "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-x", "c++",
             "-I", str(root / "include"), "-"],
            input=unit, capture_output=True, text=True)
        return header, done

    headers = sorted((root / "include/onceguard").glob("*.hpp"))
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for header, done in pool.map(compiles, headers):
            if done.returncode != 0:
                findings.add(header.relative_to(root).as_posix(), 1,
                             "does not compile alone:\n" + done.stderr)


def check_exceptions_are_needed(findings):
    for rule, entries in rules.ALLOWED.items():
        for pattern in entries:
            if (rule, pattern) not in findings.used_exceptions:
                findings.add("tools/tidy_rules.py", 1,
                             f"the exception of {pattern} from '{rule}' is needed no more")


def main(arguments):
    with_headers = "--no-headers" not in arguments
    places = [a for a in arguments if not a.startswith("--")]
    root = Path(places[0] if places else Path(__file__).resolve().parent.parent).resolve()
    findings = Findings()
    rooms = house.read(root)
    pages = markdown_text.Pages(root)
    for path in text_files(root):
        text = (root / path).read_text(encoding="utf-8")
        check_name(path, findings)
        check_lines(path, text, findings)
        check_functions(path, text, findings)
        check_banned(path, text, findings)
        if path.endswith((".cpp", ".hpp")):
            check_includes(rooms, path, text, findings)
        if path.endswith((".cpp", ".hpp", ".py", ".lua", ".sql")):
            check_words(path, text, findings)
        if path.endswith((".cpp", ".hpp", ".inc", ".md", ".toml")):
            check_named_documents(root, path, text, findings)
        if path.endswith(".md"):
            check_links(pages, path, text, findings)
    check_problem_pages(root, findings)
    check_tests_have_targets(root, findings)
    check_internals(root, rooms, findings)
    check_events(root, findings)
    check_openapi_page(root, findings)
    for path, line, name, header in class_files.misplaced(root):
        if not findings.excused("class", path):
            findings.add(path, line, f"{name} stands in {header}.hpp: define it in {header}*.cpp")
    if with_headers:
        check_headers_alone(root, findings)
    check_exceptions_are_needed(findings)
    for line in findings.lines:
        print(line)
    print(f"tidy: {len(findings.lines)} findings" if findings.lines else "tidy: nothing to say")
    return 1 if findings.lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
