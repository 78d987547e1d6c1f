#!/usr/bin/env python3
"""Prints "TOTAL FAILED" of a JUnit report of ctest or pytest, then the name of each that failed.

What did not run counts as failed: a test that was skipped has shown nothing.
"""
import sys
import xml.etree.ElementTree as tree

report, label = sys.argv[1:3]
cases = list(tree.parse(report).getroot().iter("testcase"))


def passed(case):
    return case.get("status", "run") == "run" and \
        all(case.find(bad) is None for bad in ("failure", "error", "skipped"))


failed = [case for case in cases if not passed(case)]
print(len(cases), len(failed))
for case in failed:
    place = case.get("classname", "")
    name = case.get("name")
    print(f"{label}: {name if place in ('', name) else place + ' ' + name}")
