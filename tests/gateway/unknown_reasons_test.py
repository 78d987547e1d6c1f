"""What became unknown is found by its event, in the metrics and in lists, with one reason."""

from support import unknown_ways as ways
from support.samples import scrape
from support.waiting import wait_until


def became_unknown(admin):
    """Counts by reason, where they are not 0."""
    samples = scrape(admin)
    return {dict(labels)["reason"]: int(value) for (name, labels), value in samples.items()
            if name == "onceguard_became_unknown_total" and value}


def events(gateway):
    """The reasons by record."""
    lines = [line for line in gateway.log_lines() if line["event"] == "outcome-unknown"]
    found = {line["record"]: line["reason"] for line in lines}
    assert len(lines) == len(found), "a second event of one record"
    return found


def check_every_key(start_gateway, upstream, admin, store):
    config = {**ways.CONFIG, "store": store,
              "gateway": {**ways.CONFIG["gateway"], "admin": admin.text}}
    expected = ways.reasons()
    assert len(expected) == 200

    gateway = start_gateway(upstream, config)
    ways.answer_badly(gateway)
    answered = {key: reason for key, reason in expected.items()
                if reason not in (ways.DRAINED[1], ways.KILLED[1])}
    assert became_unknown(admin) == ways.by_reason(answered)
    ways.leave_running(gateway, upstream, ways.DRAINED[0], gateway.stop)
    gateway.start()
    ways.leave_running(gateway, upstream, ways.KILLED[0], gateway.kill)
    gateway.start()
    ways.repeat_until_unknown(gateway, ways.KILLED[0])
    for way in (ways.KILLED[0], ways.DRAINED[0]):  # known from before: no second event
        ways.repeat_until_unknown(gateway, way)
    assert became_unknown(admin) == {"holder_gone": ways.EACH}
    wait_until(lambda: scrape(admin).value("onceguard_records", state="unknown") == 200, 30,
               "the count of the records")

    listed = {record["key"]: record for record in gateway.keys("--state", "unknown")}
    assert {key: record["why"] for key, record in listed.items()} == expected
    for reason, count in ways.by_reason(expected).items():
        assert len(gateway.keys("--reason", reason)) == count
    assert gateway.stop() == 0
    found = events(gateway)
    assert found == {record["record"][:12]: record["why"] for record in listed.values()}
    accessed = {line["record"]: line["reason"] for line in gateway.log_lines()
                if line["event"] == "request" and line.get("settled") == "unknown"}
    ended = {key: reason for key, reason in expected.items() if reason != ways.KILLED[1]}
    assert accessed == {listed[key]["record"][:12]: reason for key, reason in ended.items()}


def test_two_hundred_keys_made_unknown_in_ten_ways_have_one_reason_each(
        start_gateway, own_upstream, admin_listener):
    check_every_key(start_gateway, own_upstream, admin_listener, {})
