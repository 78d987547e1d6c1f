"""tools/junit_counts.py: what a run of ctest says, counted test by test."""

import pathlib
import subprocess
import sys

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "junit_counts.py"


def write_report(path, cases):
    body = "".join(f'<testcase name="{name}" status="{status}">{extra}'
                   f"<system-out><![CDATA[{said}]]></system-out></testcase>"
                   for name, status, extra, said in cases)
    path.write_text(f"<testsuite>{body}</testsuite>")


def counted(tmp_path, *cases):
    """The words of the first line, and the other lines."""
    report = tmp_path / "junit.xml"
    write_report(report, cases)
    done = subprocess.run([sys.executable, TOOL, report, "here", tmp_path / "excerpts"],
                          capture_output=True, text=True, check=True)
    first, *rest = done.stdout.splitlines()
    return [int(word) for word in first.split()], rest


GOOGLE = ("[==========] 12 tests from 3 test suites ran. (5 ms total)\n"
          "[  PASSED  ] 12 tests.\n")
FAILING = ("[  FAILED  ] stores/contract.keeps/sqlite, where GetParam() = sqlite (3 ms)\n"
           "[==========] 4 tests from 1 test suite ran. (5 ms total)\n"
           "[  PASSED  ] 3 tests.\n"
           "[  FAILED  ] 1 test, listed below:\n"
           "[  FAILED  ] stores/contract.keeps/sqlite, where GetParam() = sqlite\n")
SKIPPING = ("[  SKIPPED ] room.test (0 ms)\n"
            "[==========] 2 tests from 1 test suite ran. (5 ms total)\n[  PASSED  ] 1 test.\n"
            "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] room.test\n")


def test_programs_and_files_report_their_number_of_tests(tmp_path):
    assert counted(tmp_path, ("a", "run", "", GOOGLE), ("b", "run", "", "4 passed in 0.12s\n"),
                   ("c", "run", "", "ok 1 - core")) == ([17, 0], [])


def test_what_failed_is_named(tmp_path):
    assert counted(tmp_path, ("a", "fail", "<failure/>", FAILING)) == (
        [4, 1], ["failed: here: a: stores/contract.keeps/sqlite"])
    said = "FAILED x_test.py::test_it - assert 1\n1 failed, 2 passed in 3.10s\n"
    assert counted(tmp_path, ("b", "fail", "<failure/>", said)) == (
        [3, 1], ["failed: here: b: x_test.py::test_it"])


def test_what_a_failed_test_printed_is_kept(tmp_path):
    fault = "file.cpp:3: Failure\nExpected equality of these values\n"
    counted(tmp_path, ("a", "run", "", GOOGLE), ("b", "fail", "<failure/>", fault + FAILING))
    lines = (tmp_path / "excerpts").read_text().splitlines()
    assert lines == ["---- b", *fault.splitlines(), FAILING.splitlines()[0]]


def test_what_was_skipped_has_failed(tmp_path):
    assert counted(tmp_path, ("a", "run", "", SKIPPING)) == (
        [2, 1], ["failed: here: a: room.test"])
    assert counted(tmp_path, ("b", "run", "", "1 passed, 2 skipped in 0.10s\n")) == (
        [3, 1], ["failed: here: b: 2 of its tests"])


def test_a_crash_has_failed_whatever_went_before(tmp_path):
    said = "[==========] Running 9 tests from 1 test suite.\n"
    assert counted(tmp_path, ("a", "fail", "<failure/>", said)) == ([1, 1], ["failed: here: a"])
    assert counted(tmp_path, ("b", "notrun", "", "")) == ([1, 1], ["failed: here: b"])
    assert counted(tmp_path, ("c", "fail", "<failure/>", GOOGLE)) == (
        [12, 1], ["failed: here: c"])
