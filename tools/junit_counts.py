#!/usr/bin/env python3
"""Prints "TOTAL FAILED" of a JUnit report of ctest, then the name of each failed test. What those
printed last is written to the file that the third argument names.

One test of ctest may be a whole program of GoogleTest or a file of pytest: then their own last
words tell how many tests that were. What did not run counts as failed: a test that was skipped has
shown nothing.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

LINES = 40  # of each failed test


def number(pattern, text):
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def of_googletest(text):
    """How many tests ran, and the names of those that did not pass; none: it was no GoogleTest."""
    ran = number(r"^\[==========\] (\d+) tests? from .* ran\.", text)
    bad = re.findall(r"^\[  (?:FAILED  |SKIPPED )\] ([^\s,]+\.[^\s,]+)", text, re.MULTILINE)
    return (ran, sorted(set(bad))) if "[==========]" in text else None


def of_pytest(text):
    passed, *others = (number(rf"\b(\d+) {what}", text)
                       for what in ("passed", "failed", "errors?", "skipped", "xfailed"))
    if not re.search(r" in [\d.]+s", text) or passed + sum(others) == 0:
        return None
    bad = re.findall(r"^(?:FAILED|ERROR|SKIPPED) (?:\[\d+\] )?(\S+)", text, re.MULTILINE)
    return passed + sum(others), bad or [f"{n} of its tests" for n in others if n]


def count(case):
    """The total, and the names of what failed."""
    name = case.get("name")
    text = case.findtext("system-out") or ""
    total, bad = of_googletest(text) or of_pytest(text) or (1, [])
    ended_well = case.get("status", "run") == "run" and \
        all(case.find(what) is None for what in ("failure", "error", "skipped"))
    if not ended_well and not bad:
        return max(total, 1), [name]
    return total, [f"{name}: {each}" for each in bad]


def last_words(case):
    """What a failed test printed: of GoogleTest up to the first failure, else the end."""
    lines = (case.findtext("system-out") or "").splitlines()
    first = next((at for at, line in enumerate(lines, 1) if line.startswith("[  FAILED  ]")), None)
    return [f"---- {case.get('name')}", *lines[:first][-LINES:]]


def main():
    report, label, excerpts = sys.argv[1:4]
    cases = list(tree.parse(report).getroot().iter("testcase"))
    counted = [count(case) for case in cases]
    bad = [name for _, names in counted for name in names]
    said = [line for case, (_, names) in zip(cases, counted) if names for line in last_words(case)]
    pathlib.Path(excerpts).write_text("".join(f"{line}\n" for line in said), encoding="utf-8")
    print(sum(total for total, _ in counted), len(bad))
    for name in bad:
        print(f"failed: {label}: {name}")


if __name__ == "__main__":
    main()
