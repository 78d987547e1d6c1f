"""Disturbances in pairs, from fixed seeds: the short form of `./dev chaos`."""

import concurrent.futures
import json

import pytest

from chaos import plan as plans
from chaos.options import read_reference
from chaos.run import perform
from chaos.shrink import shrunk
from chaos.table import TABLE
from support.upgrading import adopting_orphans

RUNS = {
    "killed": (1, ("kill-gateway", "kill-service")),
    "asleep": (2, ("freeze-gateway", "reload")),
    "crowded": (3, ("file-size-limit", "strangers")),
    "operated": (4, ("pipe-to-service", "operator")),
    "doubling": (5, ("kill-service", "kill-service")),
    "journaled": (6, ("kill-gateway", "journal-put-back")),
}


def drawn(onceguard, name, run=0):
    seed, pair = RUNS[name]
    plan = plans.draw(seed, run, read_reference(onceguard), pair)
    plan.store = "journal" if name == "journaled" else "sqlite"
    if name == "doubling":  # what nobody promises, so that the oracle has something to see
        plan.front, plan.back, plan.policy["unknown"] = "", "", "rerun"
    return plan


def one(onceguard, plan):
    with adopting_orphans():
        return perform(onceguard, plan)


@pytest.fixture(scope="module")
def results(onceguard):
    """All at once: most of the time they wait."""
    with concurrent.futures.ProcessPoolExecutor(len(RUNS)) as pool:
        yield {name: pool.submit(one, onceguard, drawn(onceguard, name)) for name in RUNS}


@pytest.mark.parametrize("name", [name for name in RUNS if name != "doubling"])
def test_nothing_runs_twice_where_two_disturbances_meet(results, name):
    result = results[name].result()
    assert not result.complaints, "\n".join([*result.complaints, *result.notes])
    assert result.effects > 6, result  # a slow machine holds more of the keys


def test_what_runs_twice_is_found(onceguard, results):
    result = results["doubling"].result()
    for run in range(1, 4):  # perhaps no kill has met a request between its effect and its answer
        if "doubled" in result.kinds:
            break
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            result = pool.submit(one, onceguard, drawn(onceguard, "doubling", run)).result()
    assert "doubled" in result.kinds, result


def test_a_plan_is_the_same_from_the_same_seed_and_from_its_text(onceguard):
    reference = read_reference(onceguard)
    for run in range(50):
        plan = plans.draw(9, run, reference)
        assert plan == plans.draw(9, run, reference)
        again = plans.of_text(plan.text())
        assert json.loads(again.text()) == json.loads(plan.text())
        assert all(plan.store in TABLE[each["name"]].stores for each in plan.disturbances)
    assert len({plans.draw(9, run, reference).text() for run in range(50)}) == 50


def test_a_failing_run_is_shrunk_to_what_fails(onceguard, monkeypatch):
    """`perform` says here what a fault of one disturbance alone would."""
    class Failed:
        def __init__(self, plan):
            names = [each["name"] for each in plan.disturbances]
            self.kinds = {"doubled"} if "freeze-gateway" in names else set()

    monkeypatch.setattr("chaos.shrink.perform", lambda program, plan: Failed(plan))
    plan = plans.draw(3, 0, read_reference(onceguard), ("kill-service", "freeze-gateway"))
    plan.front, plan.back, plan.gateways = "nginx", "varnish", 2
    least = shrunk(onceguard, plan, {"doubled"})
    assert [each["name"] for each in least.disturbances] == ["freeze-gateway"]
    assert (least.front, least.back, least.gateways) == ("", "", 1)


def test_extremes_are_read_from_the_reference(onceguard):
    found = {(table, name): (least, greatest)
             for table, name, _, least, greatest in read_reference(onceguard)}
    assert found["defaults", "lease"] == ("1s", "1d")
    assert found["gateway", "max_waiters"] == ("0", "1000000")
    assert ("defaults", "retention") not in found
