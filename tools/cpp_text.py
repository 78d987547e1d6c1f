"""Reads C++ (and Python) just well enough to say where functions begin and end."""
import ast
import re

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/            # comments
      |R"([^()\\\s]{0,16})\(.*?\)\1"  # raw strings
      |"(?:\\.|[^"\\\n])*"            # strings
      |(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'  # characters, not digit separators
    """, re.VERBOSE | re.DOTALL)

# What stands between a parameter list and the body: a qualifier, a result, the initialisers.
BODY_FOLLOWS = re.compile(
    r"\)$|\b(?:const|noexcept|override|final|mutable|try)$|&$|->|\brequires\b"
    r"|\)\s*(?:noexcept\s*)?:[^:].*\}$", re.DOTALL)


def without_comments_and_strings(text):
    """The same text with those blanked out, line by line and column by column."""
    def blank(match):
        found = match.group(0)
        if found[0] in "\"R":
            return '"' + re.sub(r"[^\n]", " ", found[1:-1]) + '"'
        return re.sub(r"[^\n]", " ", found)
    return TOKEN.sub(blank, text)


def functions(text):
    """(name, first line, last line) of every function body outside of other functions."""
    bare = re.sub(r"(?m)^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                  without_comments_and_strings(text))
    found, stack, header_from = [], [], 0
    for match in re.finditer(r"[{};]", bare):
        mark, at = match.group(0), match.start()
        header = bare[header_from:at]
        if mark == "{":
            inside = any(kind == "function" for kind, _, _ in stack)
            kind = "block" if inside else kind_of(header)
            begin = header_from + len(header) - len(header.lstrip())
            stack.append((kind, name_of(header), begin))
        elif mark == "}" and stack:
            kind, name, begin = stack.pop()
            if kind == "function":
                found.append((name, line_of(bare, begin), line_of(bare, at)))
            elif kind == "braces":  # an initialiser: the header goes on after it
                header_from = begin
                continue
        header_from = match.end()
    return found


def kind_of(header):
    words = header.strip()
    if re.search(r"\bnamespace\b|\bextern\s*$", words):
        return "namespace"
    if re.search(r"\b(class|struct|union|enum)\b[^()]*$", words):
        return "type"
    if "(" in words and BODY_FOLLOWS.search(words):
        return "function"
    return "braces"


def name_of(header):
    match = re.search(r"([~\w:]+|operator[^\w\s(]+)\s*\(", header)
    return match.group(1) if match else "?"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def python_parameters(text):
    """The line and the name of each parameter."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
