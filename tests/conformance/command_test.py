"""`onceguard conformance` as a command: exit codes, choice of cases, tables, reports."""

import json

import pytest

from support.ports import Port


def test_cases_are_chosen_by_name_with_their_variants(kit, service):
    report = kit(service).report("--only", "first-request", "--only", "safe-method")
    assert [case["name"] for case in report["cases"]] == [
        "first-request", "safe-method/GET", "safe-method/HEAD"]
    assert report["summary"] == {"passed": 3, "failed": 0, "skipped": 0}
    assert (report["version"], report["level"], report["target"]) == (1, "onceguard", service)


def test_a_failed_case_is_explained_and_ends_with_1(kit, service):
    done = kit(service).run("--only", "repeat", "--only", "no-key")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "FAIL repeat"
    assert "SHOULD, draft-ietf-httpapi-idempotency-key-header-07 section 2.6, Retry" in lines[2]
    assert lines[3] == r'     step 2, body: expected "{\"run\": 1}", got "{\"run\": 2}"'
    assert lines[-2:] == ["pass no-key", "2 cases: 1 passed, 1 failed"]


def test_cases_that_pass_end_with_0(kit, service):
    done = kit(service).run("--only", "no-key")
    assert (done.returncode, done.stdout) == (0, "pass no-key\n1 cases: 1 passed, 0 failed\n")


def test_the_target_may_have_a_path(kit, start_gateway, service):
    gateway = start_gateway(service)
    url = "http://%s:%d/" % gateway.address
    assert kit(url).failed("--only", "repeat") == {}
    done = kit(url + "elsewhere").run()
    assert done.returncode == 1
    assert "is the test service there?" in done.stderr


def test_a_table_of_ones_own(kit, service, tmp_path):
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"version": 1, "cases": [
        {"name": "teapot", "levels": ["onceguard"], "strength": "MUST", "rule": "RFC 2324",
         "says": "It is a teapot.", "steps": [
             {"send": {"work": {"status": 418}}, "expect": {"status": 418, "runs": 1}}]}]}))
    done = kit(service).run("--spec", str(table))
    assert (done.returncode, done.stdout) == (0, "pass teapot\n1 cases: 1 passed, 0 failed\n")
    table.write_text('{"version": 1, "cases": [{}]}')
    done = kit(service).run("--spec", str(table))
    assert done.returncode == 3
    assert f"--spec: {table}: cases[0].name: is missing" in done.stderr


@pytest.mark.parametrize("arguments, code, text", [
    (["--only", "nothing"], 2, "--only: no case is called nothing"),
    (["--only", "kept-error"], 2, "--only: no such case at this level"),
    (["--spec", "/nowhere"], 2, "--spec: /nowhere: can't be read"),
    (["--level", "all"], 2, "--level"),
    (["--jobs", "0"], 2, "--jobs"),
    (["--long-work", "0"], 2, "--long-work"),
])
def test_wrong_arguments(kit, service, arguments, code, text):
    done = kit(service).run(*arguments)
    assert done.returncode == code
    assert text in done.stderr


def test_a_target_that_is_not_there(kit):
    port = Port()
    done = kit(f"http://127.0.0.1:{port.number}").run()
    port.close()
    assert done.returncode == 1
    assert "--target: 127.0.0.1:" in done.stderr and "onnection refused" in done.stderr
    assert kit("https://example.com").run().returncode == 2
