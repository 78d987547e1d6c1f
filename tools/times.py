#!/usr/bin/env python3
"""Writes the seconds of each build step and suite of a build to times.txt in its folder.

    tools/times.py build/release

The seconds of the suites also go to tests/suite_seconds.json, by which the longest start first.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as tree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build_steps(folder):
    """(seconds, name) of each step of ninja's last run; a step with several outputs counts once."""
    steps = {}
    for line in (folder / ".ninja_log").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            begin, end, _, name, command = line.split("\t")
            steps[(begin, end, command)] = ((int(end) - int(begin)) / 1000, name)
    return sorted(steps.values(), reverse=True)


def suites(folder):
    cases = tree.parse(folder / "junit.xml").getroot().iter("testcase")
    return sorted(((float(case.get("time")), case.get("name")) for case in cases), reverse=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    parts = {"build": build_steps(folder), "suites": suites(folder)}
    with open(folder / "times.txt", "w", encoding="utf-8") as out:
        for part, rows in parts.items():
            out.write(f"{part}: {sum(seconds for seconds, _ in rows):.0f} s in {len(rows)}\n")
            out.writelines(f"{seconds:8.1f}  {name}\n" for seconds, name in rows)
    measured = {name: round(seconds, 1) for seconds, name in parts["suites"]}
    (ROOT / "tests/suite_seconds.json").write_text(
        json.dumps(dict(sorted(measured.items())), indent=0) + "\n", encoding="utf-8")
    print(f"seconds by step and suite: {folder}/times.txt")


if __name__ == "__main__":
    main()
