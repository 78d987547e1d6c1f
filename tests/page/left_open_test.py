"""The page, left open for a working day: it holds at its end what it held with full charts."""

import pytest

from page.page_test import make_unknown


@pytest.mark.parametrize("table", [{}, {"audit_log": "audit.jsonl"}])
def test_a_page_that_is_left_open_for_eight_hours_holds_no_more(begin_page, act_out, tmp_path,
                                                               table):
    gateway, admin, facts = begin_page(
        tokens=False, gateway={name: str(tmp_path / path) for name, path in table.items()})
    make_unknown(gateway, ["charge-1"])
    record = admin.records("state=unknown")[0]["record"]
    assert admin.post(f"/api/records/{record}/release", {"reason": "not paid"}).status == 200
    # A read stands for 240 s instead of 5.
    act_out("left_open", {**facts, "step": 240})
