"""One key in the page: keys that are meant to harm, commands that are pasted, leases, traces."""

import json
import os
import subprocess
import threading
import unicodedata

import pytest

from page.page_test import noted
from support.client import fields_for
from support.decisions import DecisionService
from support.gateway import clean_environment
from support.waiting import wait_until

KEYS = [
    "<script>globalThis.owned=1</script>", '"><img src=x onerror=owned=1>',
    "{{constructor.constructor('owned=1')()}}", "javascript:owned=1", "a b%00c&d=e#f",
    "'; DROP TABLE records; --", "W" * 255, "\u00e9" * 127 + "x", "\U0001f600" * 63,
    "a\0b", "ab", "\0", "a\nb\tc", "\x1b[31mred\x07\x7f\u0085", "evil\u202egnp.exe",
    "\u2066a\u2069\u200b", "\u05e9\u05dc\u05d5\u05dd-17",
    "it's \"q\" $(id) `id` \\ $HOME", "-rf", "--help",
    " leading and trailing ", "\u2028\ufeff\u00ad", "' && exit 3 #",
]


def shown(key):
    """As the page has it: what is not seen stands there by its number."""
    def one(character):
        if unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp"):
            return character
        if character < " ":
            return chr(0x2400 + ord(character))
        return f"\u2039U+{ord(character):04X}\u203a"
    return "".join(map(one, key))


@pytest.fixture
def strange(begin_page, onceguard, tmp_path):
    """A gateway, and on its store a completed record of each of KEYS, the second of which is
    unknown; its listener, the facts, and the ids of the records by their keys."""
    gateway, admin, facts = begin_page()
    service = DecisionService(onceguard, tmp_path, store=gateway.store_url()).start()
    try:
        with service.client() as client:
            for number, key in enumerate(KEYS):
                # An operator waits for work that may still run.
                operation = client.run(key=key, policy={"upstream_timeout": "100ms"})["operation"]
                done = (client.settle(operation, "abandon") if number == 1
                        else client.complete(operation))
                assert done.status == 200, done.body
    finally:
        service.close()
    ids = {one["key"]: one["record"] for one in admin.records()}
    assert set(ids) == set(KEYS)
    return admin, facts, ids


def test_hostile_keys_are_text(strange, act_out):
    admin, facts, ids = strange
    for key in KEYS:  # the audit log names each of them
        assert admin.get(f"/api/records/{ids[key]}?body=yes").status == 200
    unknown = {"record": ids[KEYS[1]], "shown": shown(KEYS[1])}
    act_out("hostile", {**facts, "unknown": unknown, "keys": [
        {"record": ids[key], "shown": shown(key)} for key in KEYS if key != KEYS[1]]})
    states = {one["key"]: one["state"] for one in admin.records()}
    assert states == {key: "released" if key == KEYS[1] else "completed" for key in KEYS}


def paste(command, onceguard, token_file, **more):
    """What a shell makes of it."""
    environment = {**clean_environment(), "PATH": f"{onceguard.parent}:{os.environ['PATH']}",
                   "TOKEN_FILE": str(token_file), **more}
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)


def test_the_commands_of_a_key_work_in_a_shell(strange, act_out, onceguard, tmp_path):
    admin, facts, ids = strange
    token = tmp_path / "its token"
    token.write_text(f"{facts['operator']}\n")
    commands, = act_out("commands", {**facts, "records": list(ids.values())})
    for key, record in ids.items():
        show, by_id, by_key, *acts = commands[record]
        done = paste(show, onceguard, token)
        assert done.returncode == 0 and record in done.stdout, (key, done)
        done = paste(by_id.replace("curl ", "curl -sS "), onceguard, token)
        assert json.loads(done.stdout)["key"] == key, (key, done)
        done = paste(by_key.replace("curl ", "curl -sS "), onceguard, token)
        found = json.loads(done.stdout)["records"]
        assert [one["record"] for one in found] == [record], (key, done)
        if key != KEYS[1]:  # a completed one with its answer can't be completed or released
            assert not acts, acts
        else:
            release, complete = acts
            assert "onceguard keys complete" in complete
            done = paste(release, onceguard, token, REASON="it's \"not\" at the bank")
            assert done.returncode == 0, done
    record, = admin.records("state=released")
    assert record["key"] == KEYS[1]
    entry = admin.get(f"/api/audit?record={record['record']}&limit=1").json()["entries"][0]
    assert (entry["who"], entry["why"]) == ("alice", "it's \"not\" at the bank")


def test_a_lease_that_was_renewed_stands_in_the_timeline(begin_page, act_out, own_upstream):
    gateway, admin, facts = begin_page(defaults={"lease": "6s"})
    first = threading.Thread(target=gateway.post, kwargs={
        "key": "order-17", "plan": {"delay_ms": 4000}})
    first.start()
    wait_until(lambda: own_upstream.runs("order-17") == 1, 30, "the first request")
    assert gateway.post(key="order-17").status == 409
    first.join()
    noted(admin, "order-17", 2)
    record, = admin.records("key=order-17")
    act_out("renewed", {**facts, "record": record["record"]})


def test_a_trace_is_a_link(begin_page, act_out):
    url = "https://traces.test/ui?x=1&q=%7B{trace_id}%7D#/trace"
    gateway, admin, facts = begin_page(gateway={"trace_url": url})
    traces = ["0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"]
    for trace in traces:
        fields = fields_for('"order-17"', fields=[
            ("traceparent", f"00-{trace}-b7ad6b7169203331-01")])
        assert gateway.post(fields=fields).status == 201
    noted(admin, "order-17", 2)
    record, = admin.records()
    act_out("trace_link", {**facts, "record": record["record"], "traces": traces,
                           "trace_url": url})
