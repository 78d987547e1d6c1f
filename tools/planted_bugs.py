"""The planted bugs of tools/mutants/, as tools/mutants.py builds and runs them."""
import collections
import dataclasses
import functools
import pathlib
import re
import tomllib
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tools/mutants"
KEYS = {"name", "file", "was", "is", "form", "suites", "equivalent"}
FORMS = {"expression": "({switch} ? ({wrong}) : ({right}))",
         "statement": "{{ if ({switch}) {{ {wrong} }} else {{ {right} }} }}"}
# C++ files whose text of SQL passes a seam of tools/mutants.py.
TEXTS = {"src/store/postgres/queries/statements.cpp", "src/messaging/postgres_queue/statements.cpp"}


@dataclasses.dataclass
class Mutant:
    room: str
    name: str
    file: str
    was: str
    wrong: str
    form: str
    suites: list
    equivalent: str
    number: int = 0

    def __str__(self):
        return f"{self.room}/{self.name}"


def read(file, errors):
    """The mutants of one file; what is wrong with the data goes to `errors`."""
    room = str(file.relative_to(DATA).with_suffix(""))
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        errors.append(f"{file}: {error}")
        return []
    found = []
    for row in table.get("mutant", []):
        label = f"{room}/{row.get('name', '?')}"
        lacking = {"name", "file", "was", "is"} - row.keys()
        if lacking or row.keys() - KEYS:
            errors.append(f"{label}: lacks {sorted(lacking)}, unknown {sorted(row.keys() - KEYS)}")
            continue
        form = row.get("form", "expression")
        if form not in {*FORMS, "text"}:
            errors.append(f"{label}: there is no form {form}")
        if form != "text" and "//" in row["was"].splitlines()[-1] + row["is"]:
            errors.append(f"{label}: a comment would hide the brace that the switch adds")
        for part in ("was", "is"):
            problem = problem_of_shape(form, row[part], row["file"])
            if problem:
                errors.append(f"{label}: `{part}` {problem}")
        if declares_a_name(form, row["was"]):
            errors.append(f"{label}: `was` declares a name, which would end with the switch")
        suites = row.get("suites", table.get("suites", []))
        for suite in suites:
            problem = problem_of(suite)
            if problem:
                errors.append(f"{label}: {problem}")
        if not suites:
            errors.append(f"{label}: no suites")
        found.append(Mutant(room, row["name"], row["file"], row["was"], row["is"], form, suites,
                            row.get("equivalent", "")))
    return found


def problem_of_shape(form, code, file):
    """Why the code does not compile behind a switch of this form, or None."""
    if form == "text":
        seam = file in TEXTS or file.endswith((".sql", ".lua"))
        return None if seam else "stands in a file whose text no seam replaces"
    texts = r"""R"(\w*)\(.*?\)\1"|"(\\.|[^"\\])*"|'(\\.|[^'\\])'"""
    bare = re.sub(texts, '""', code, flags=re.DOTALL)
    depth, outside = 0, ""
    for sign in bare:
        depth -= sign in ")]}"
        if depth < 0:
            return "closes what it does not open"
        outside += sign if depth == 0 else ""
        depth += sign in "([{"
    if depth or bare.count('"') % 2:
        return "opens what it does not close"
    if outside.count("?") != len(re.findall(r"(?<!:):(?!:)", outside)):
        return "has one half of a condition"
    if form == "statement":
        return None if not code or bare.rstrip().endswith((";", "}")) else "is no statement"
    wrong = r"^\s*($|->|\.|&&|\|\||if\b|return\b)|[;,]|(&&|\|\|)\s*$"
    return "is no expression" if re.search(wrong, outside) else None


def declares_a_name(form, was):
    """Of the code as it is: the name would end with the switch."""
    return form == "statement" and re.match(
        r"\s*(?!(?:return|co_return|throw|delete|else)\b)"
        r"(?:const )?[\w:]+[&*]* \w+(?:\(| =|\{|;)", was)


def is_declared(before, was):
    """Whether an expression by its looks is a name behind its type: `const request wanted(…)`."""
    kind = re.search(r"[;{}\n]\s*((?:const |auto )*[\w:<>]+[&*]*) +$", before)
    words = ("return", "co_return", "co_await", "throw", "delete", "else", "case", "new")
    return bool(kind) and kind[1] not in words and bool(re.match(r"\w+[({]", was))


def is_torn(before, was, after):
    """Whether a part of the expression belongs to an operator outside, which the switch's own
    parentheses would take from it (`a && b` of `a && b == c`), or it stands within a literal."""
    if len(re.findall(r"""(?<![\\'])\"""", before.rpartition("\n")[2])) % 2 == 1:
        return True
    bare = re.sub(r"""\"(\\.|[^"\\])*\"|'(\\.|[^'\\])'""", '""', was)
    while (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "_", bare)) != bare:
        bare = inner
    levels = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "+": 5, "-": 5, "*": 6, "!": 7,
              ".": 7}
    weakest = min((level for level, sign in enumerate(("?", "||", "&&")) if sign in bare),
                  default=9)
    beside = [re.search(r"(\|\||&&|==|!=|[<>+*!-])\s*$", before),
              re.match(r"\s*(\|\||&&|==|!=|[<>+*.-])", after)]
    return any(found and levels[found[1]] > weakest for found in beside)


@functools.cache
def problem_of(suite):
    """Why there can be no such suite, or None."""
    name, _, test = suite.partition(":")
    if name.endswith(".py"):
        file = ROOT / "tests" / name
        if not file.is_file():
            return f"no file tests/{name}"
        test = re.sub(r"\[.*|:", "", test)
        known = not test or f"def {test}(" in file.read_text(encoding="utf-8")
        return None if known else f"no test {test} in tests/{name}"
    return None if name in programs() else f"no program {name}"


@functools.cache
def programs():
    """A folder of tests is a program, which is named after the folder."""
    text = (ROOT / "tests/CMakeLists.txt").read_text(encoding="utf-8")
    return {folder.replace("/", "_") + "_tests"
            for folder in re.findall(r"^ *onceguard_room_tests\(([\w/]+)", text, re.MULTILINE)}


def read_all():
    errors = []
    mutants = [each for file in sorted(DATA.rglob("*.toml")) for each in read(file, errors)]
    for mutant in mutants:  # of its name, so that no other entry changes the number
        mutant.number = zlib.crc32(str(mutant).encode()) & 0x7FFFFFFF
    names = collections.Counter(str(mutant) for mutant in mutants)
    errors += [f"{name}: stands {count} times" for name, count in names.items() if count > 1]
    places_of(mutants, errors)
    return mutants, errors


def places_of(mutants, errors):
    """For each file, (begin, end, mutant) in their order."""
    places = collections.defaultdict(list)
    texts = {}
    for mutant in mutants:
        path = ROOT / mutant.file
        if not path.is_file():
            errors.append(f"{mutant}: no file {mutant.file}")
            continue
        text = texts.setdefault(mutant.file, path.read_text(encoding="utf-8"))
        count = text.count(mutant.was)
        if count != 1:
            errors.append(f"{mutant}: `was` occurs {count} times in {mutant.file}")
            continue
        begin = text.index(mutant.was)
        if mutant.form == "expression" and is_declared(text[:begin], mutant.was):
            errors.append(f"{mutant}: `was` is a name that is declared there, and no expression")
            continue
        end = begin + len(mutant.was)
        if mutant.form == "expression" and is_torn(text[:begin], mutant.was, text[end:]):
            errors.append(f"{mutant}: `was` means another thing alone, or is a part of a literal")
            continue
        places[mutant.file].append((begin, end, mutant))
    for found in places.values():
        found.sort(key=lambda place: place[0])
        for (_, end, first), (begin, _, second) in zip(found, found[1:]):
            if begin < end and "text" not in (first.form, second.form):
                errors.append(f"{second}: overlaps {first}")
    return places
