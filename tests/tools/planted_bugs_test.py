"""A planted bug names suites that exist: what nobody runs notices nothing."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import planted_bugs  # noqa: E402  pylint: disable=wrong-import-position

HERE = "tools/planted_bugs_test.py"


@pytest.mark.parametrize("suite", [
    "core_tests",
    "store_contract_tests:*memory*",
    HERE,
    f"{HERE}::test_a_suite_that_exists_is_right",
    f"{HERE}::test_a_suite_that_exists_is_right[core_tests]",
])
def test_a_suite_that_exists_is_right(suite):
    assert planted_bugs.problem_of(suite) is None


@pytest.mark.parametrize("suite, problem", [
    ("nobodys_tests", "no program nobodys_tests"),
    ("tools/nobodys_test.py", "no file tests/tools/nobodys_test.py"),
    ("tools/nobodys_test.py::test_it", "no file tests/tools/nobodys_test.py"),
    (f"{HERE}::test_that_moved_away", f"no test test_that_moved_away in tests/{HERE}"),
    (f"{HERE}::test_that_moved_away[one]", f"no test test_that_moved_away in tests/{HERE}"),
])
def test_a_suite_that_is_gone_is_named(suite, problem):
    assert planted_bugs.problem_of(suite) == problem


def test_all_bugs_are_in_their_places():
    bugs, errors = planted_bugs.read_all()
    assert errors == []
    assert len(bugs) > 600


@pytest.mark.parametrize("before, was, after, torn", [
    ("if (", "a == 0 && f(x)", " == g(x) + 1)", True),
    ("!", "a && b", ")", True),
    ("x && ", "a || b", ";", True),
    ("if (", "a == 0", " && b)", False),
    ("x || ", "a && b", ";", False),
    ("x && (", "a || b", ")", False),
    ('f("a = 1', " AND b = 2", ' AND c");', True),
    ('f("a", ', '"b" + c', ");", False),
])
def test_a_part_that_means_another_thing_alone_is_refused(before, was, after, torn):
    assert planted_bugs.is_torn(before, was, after) == torn
