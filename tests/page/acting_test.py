"""What an act of the page is for, and what it says when others act, or answers are lost."""

import pytest

from page.page_test import make_unknown, state_of

KEYS = ["charge-1", "charge-2", "charge-3"]


@pytest.fixture
def undecided(begin_page):
    """A gateway with three unknown records; the gateway, its listener, the facts."""
    gateway, admin, facts = begin_page()
    make_unknown(gateway, KEYS)
    host, port = gateway.address
    listed = [one["key"] for one in admin.records("attention=true")]
    assert sorted(listed) == KEYS
    return gateway, admin, {**facts, "gateway": f"http://{host}:{port}", "unknown": KEYS}


@pytest.mark.parametrize("name, again", [("attempt_of_one", KEYS[:1]),
                                         ("attempts_of_many", KEYS[:2])])
def test_an_act_is_for_the_attempt_that_was_seen(undecided, act_out, name, again):
    _, admin, facts = undecided
    act_out(name, facts)
    for key in again:
        record, = admin.records(f"key={key}")
        assert (record["state"], record["attempt"]) == ("unknown", 2)
    if name == "attempts_of_many":
        assert state_of(admin, KEYS[2]) == ["released"]


def test_what_still_runs_is_forced_in_the_same_dialog(undecided, act_out):
    _, _, facts = undecided
    act_out("forced_after_all", facts)


def test_what_is_completed_meanwhile_keeps_its_answer(undecided, act_out):
    gateway, admin, facts = undecided
    act_out("completed_meanwhile", facts)
    assert state_of(admin, KEYS[0]) == ["completed"]
    assert gateway.post(key=KEYS[0]).status == 201


def test_a_list_does_not_choose_the_records_of_another_caller(begin_page, act_out):
    gateway, admin, facts = begin_page()
    for caller, key in (("alice", "of-alice"), ("alice", "order-17"), ("bob", "order-17")):
        bearer = [("Authorization", f"Bearer {caller}")]
        assert gateway.post(key=key, plan={"status": 500}, fields=bearer).status == 500
    alice = admin.records("key=of-alice")[0]["scope"]
    scopes = {one["scope"] for one in admin.records("key=order-17")}
    bob, = scopes - {alice}
    act_out("scopes", {**facts, "scopes": [alice, bob]})
    states = {(one["scope"], one["key"]): one["state"] for one in admin.records()}
    assert states == {(alice, "of-alice"): "completed", (alice, "order-17"): "completed",
                      (bob, "order-17"): "unknown"}


def test_a_list_finds_what_the_view_has_not_read(undecided, act_out):
    _, admin, facts = undecided
    act_out("list_of_many", facts)
    assert [state_of(admin, key) for key in KEYS] == [["unknown"], ["released"], ["unknown"]]


def test_a_list_that_was_changed_counts_for_nothing(undecided, act_out):
    _, admin, facts = undecided
    act_out("list_changed_after_an_act", facts)
    assert [state_of(admin, key) for key in KEYS] == [["completed"], ["completed"], ["unknown"]]


def test_a_lost_answer_is_no_refusal(undecided, act_out):
    _, admin, facts = undecided
    act_out("lost_answer", facts)
    states = sorted(one["state"] for one in admin.records())
    assert states == ["released", "released", "unknown"]


def test_the_end_of_a_sign_in_hides_no_result(undecided, act_out):
    _, admin, facts = undecided
    act_out("signed_out_amid", facts)
    states = sorted(one["state"] for one in admin.records())
    assert states == ["released", "unknown", "unknown"]


def test_a_body_needs_its_status(undecided, act_out):
    gateway, _, facts = undecided
    act_out("body_without_status", facts)
    answer = gateway.post(key=KEYS[0])
    assert (answer.status, answer.body) == (201, b'{"id":17}')


def test_signing_out_without_the_gateway_and_a_broken_address(undecided, act_out):
    _, _, facts = undecided
    act_out("out_of_reach", facts)


def test_a_typing_error_in_a_list_frees_nothing(begin_page, act_out):
    """What a line that was not found may mean is none of those that were not in the list."""
    gateway, admin, facts = begin_page()
    keys = ["payout-8513", "payout-5774", "payout-4380"]
    make_unknown(gateway, keys)
    host, port = gateway.address
    act_out("typing_error_in_a_list", {**facts, "gateway": f"http://{host}:{port}"})
    states = {one["key"]: one["state"] for one in admin.records()}
    assert states == {"payout-8513": "completed", "payout-5774": "completed",
                      "payout-4380": "released", "payout-later": "unknown"}
