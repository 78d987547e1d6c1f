"""Masters die under load, in a Cluster and behind sentinels. What was promised is what the upstream
saw; what was lost is counted, and printed."""

import collections
import contextlib

import pytest

from support.customers import Customers
from support.expecting import assert_problem
from support.redis_fleet import RedisCluster, RedisSentinels
from support.waiting import scaled, wait_until

KILLS = 25  # of a Cluster, and of a master behind sentinels: fifty, each with and without WAIT


@pytest.fixture(scope="module", params=[RedisCluster, RedisSentinels])
def fleet(request):
    with contextlib.closing(request.param()) as running:
        yield running.start()


def start_on(fleet, min_replicas, start_gateway, upstream, lease="30s"):
    return start_gateway(upstream, {
        "store": {"url": f"{fleet.url()}&min_replicas={min_replicas}", "timeout": "5s",
                  "after_loss": "flag"},
        "defaults": {"lease": lease},
        "gateway": {"replay_cache": "0", "settle_wait": "60s"}})


def assert_retryable(refusals):
    """409: of the claim before nobody knew yet whether it had arrived; it is given back.

    Overloaded: the claim took so long that too little of its lease was left.
    """
    for answer in refusals:
        if answer.problem == "in-progress":
            assert_problem(answer, 409, "in-progress", True, retry_after=True)
        else:
            assert answer.problem in ("store-unreachable", "overloaded"), answer
            assert_problem(answer, 503, answer.problem, True, retry_after=True)


def settled(gateway, key):
    """The answer to a repeat, once nobody is at it any more."""
    def final_answer():
        answer = gateway.post(key=key)
        return answer if answer.status == 201 or answer.problem == "outcome-unknown" else None
    return wait_until(final_answer, timeout=120, what="an answer")


class Audit:
    """What became of all keys: by the records, by repeats, and by what arrived upstream."""

    def __init__(self, gateway, upstream, customers):
        assert_retryable(customers.refusals)
        for key in customers.given_up:
            settled(gateway, key)
        self.remade = {record["key"] for record in gateway.keys() if record["incident"]}
        asked = [*customers.answered, *customers.given_up]
        self.answers = {key: settled(gateway, key) for key in asked}
        # The claim was there, and what became of it was lost: held.
        self.unknown = {key for key, answer in self.answers.items() if answer.status != 201}
        self.forgotten = {key for key, answer in self.answers.items()
                          if answer.status == 201 and not answer.replayed}
        self.attempts = collections.defaultdict(list)
        for request in upstream.requests(path="/charges"):
            fields = {name.lower(): value for name, value in request["fields"]}
            self.attempts[request["key"]].append(int(fields["onceguard-attempt"]))
        self.twice = {key for key, seen in self.attempts.items() if len(seen) > 1}
        # A second run is always of a claim that the new master did not have: it would count. What
        # counts there is the release of a claim in doubt, whose request was refused.
        for key, seen in self.attempts.items():
            assert max(seen) <= seen[0] + customers.refused[key], (key, seen)
        effects = upstream.effects()
        assert set(effects) == set(self.answers)
        assert {key for key, count in effects.items() if count > 1} == self.twice

    def tell(self, fleet, min_replicas, what):
        print(f"\n{type(fleet).__name__}, min_replicas={min_replicas}, {what}: "
              f"{len(self.answers)} answered; records lost after their answer "
              f"{len(self.forgotten)}, claims lost while they ran {len(self.remade)}, ends lost "
              f"{len(self.unknown)}; run twice {len(self.twice)}")

    def assert_declared(self, gateway):
        """What was lost was said: by the log, and by the record of each key that ran twice."""
        if not self.found_everything():
            gateway.says("store-lost-its-memory")
        for key in self.twice:
            assert gateway.record(key)["maybe_repeated"] is True, key

    def found_everything(self):
        return not (self.forgotten or self.remade or self.unknown or self.twice)


@pytest.mark.parametrize("min_replicas", [0, 1])
def test_masters_die_under_load(fleet, min_replicas, start_gateway, own_upstream, fresh_key):
    # Longer than elections take on a busy machine: no lease ends by them.
    gateway = start_on(fleet, min_replicas, start_gateway, own_upstream, lease="60s")
    kills = scaled(KILLS, 2)
    with Customers(gateway, fresh_key, plan={"delay_ms": 5}) as customers:
        for turn in range(kills):
            customers.have_answers(20)
            fleet.crash_master(turn)
        customers.have_answers(20)
    audit = Audit(gateway, own_upstream, customers)
    audit.tell(fleet, min_replicas, f"{kills} masters killed")
    audit.assert_declared(gateway)
    if min_replicas:
        assert audit.found_everything()


def test_what_a_hanging_replica_had_not_got_is_lost_with_its_master(fleet, start_gateway,
                                                                   own_upstream, fresh_key):
    """The window in which replicas lag, made wide: without WAIT all of it is lost, and declared."""
    gateway = start_on(fleet, 0, start_gateway, own_upstream)
    keys = {}
    with Customers(gateway, fresh_key) as customers:
        customers.have_answers(20)

        def lag():
            keys["before"] = set(customers.answered)
            customers.have_answers(60)
            keys["within"] = set(customers.answered) - keys["before"]
        fleet.crash_master(0, while_heir_hangs=lag)
        customers.have_answers(20)
    audit = Audit(gateway, own_upstream, customers)
    audit.tell(fleet, 0, f"{len(keys['within'])} of them while the replica hung")
    lost = keys["within"] & audit.forgotten
    assert lost, "nothing was lost: this shows nothing"
    # In a Cluster the other masters' records stay; and a few may have been answered late.
    least = len(keys["within"]) - customers.count
    assert len(fleet.servers) > 2 or len(lost) >= least
    audit.assert_declared(gateway)


def test_nothing_that_waits_for_a_hanging_replica_counts(fleet, start_gateway, own_upstream,
                                                        fresh_key):
    gateway = start_on(fleet, 1, start_gateway, own_upstream)
    with Customers(gateway, fresh_key) as customers:
        customers.have_answers(20)

        def lag():
            # The customers may all wait for what has run. In a Cluster other masters go on.
            for _ in range(100):
                answer = gateway.post(key=(key := fresh_key()))
                if answer.status != 201:
                    break
                customers.answered[key] = answer
            assert_retryable([answer])
            customers.given_up.append(key)
        fleet.crash_master(0, while_heir_hangs=lag)
        customers.have_answers(20)
    audit = Audit(gateway, own_upstream, customers)
    audit.tell(fleet, 1, "some of them while the replica hung")
    assert audit.found_everything()
