"""The gateway passes its own conformance kit, and a server that guards nothing does not."""

import pytest

REQUIRED = [{"path": "/conformance/required", "required": True}]


def url_of(gateway):
    return "http://%s:%d" % gateway.address


@pytest.mark.parametrize("level, defaults", [("onceguard", {}), ("draft", {"keep": "all"})])
def test_the_gateway_conforms(start_gateway, service, kit, level, defaults):
    gateway = start_gateway(service, {"defaults": defaults, "route": REQUIRED})
    checked = kit(url_of(gateway))
    assert checked.failed("--level", level, "--long-work", "3") == {}


def test_a_server_without_guard_runs_repeats_and_is_found_out(service, kit):
    failed = kit(service).failed("--jobs", "4", "--long-work", "1")
    for name in ("repeat", "another-body", "missing-key", "concurrent-repeat", "many-at-once",
                 "unknown-outcome/500", "malformed-key/empty"):
        assert name in failed
    for name in ("first-request", "no-key", "safe-method/GET", "idempotent-method/PUT"):
        assert name not in failed
    runs = [one for one in failed["repeat"] if one["subject"] == "body"]
    assert runs[0] == {"step": 2, "subject": "body", "expected": '{"run": 1}', "got": '{"run": 2}'}
