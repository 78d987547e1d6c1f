"""Numbers and lengths of [[consume]], [[relay]], `exec` and `mcp` at their ends: each works, or is
refused with a word that names it."""

import subprocess

import pytest

from support.consumer import settled
from support.gateway import clean_environment
from support.toml import toml_text

LENGTHS = ["0s", "-1s", "-9223372036854775808ms", "9223372036854775807ms", "9223372036854775808ms",
           "9223372036854775807s", "106751991167d", "106751991168d", "2147483648ms", "1e9s", ""]
NUMBERS = [0, -1, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, -2**63]
CONSUME = {"timeout": LENGTHS, "lease": LENGTHS, "backoff": LENGTHS, "backoff_max": LENGTHS,
           "retention": LENGTHS, "unknown_retention": LENGTHS, "wait": LENGTHS,
           "concurrency": NUMBERS, "attempts": NUMBERS}
RELAY = {"timeout": LENGTHS, "backoff": LENGTHS, "backoff_max": LENGTHS, "concurrency": NUMBERS,
         "batch": NUMBERS, "attempts": NUMBERS}
TABLES = {
    "consume": {"subscriber": "billing", "from": "redis://127.0.0.1/s?group=g", "command": ["true"],
                "dead_letter": "drop"},
    "relay": {"name": "orders", "outbox": "postgresql://127.0.0.1/shop?outbox=o",
              "to": "http://127.0.0.1:9/"}}


def run(onceguard, folder, *words):
    return subprocess.run([str(onceguard), *words], capture_output=True, text=True, cwd=folder,
                          env=clean_environment(), timeout=60, check=False)


@pytest.mark.parametrize("table, option", [
    (table, option) for table, options in (("consume", CONSUME), ("relay", RELAY))
    for option in options])
def test_an_option_is_taken_or_refused_by_its_name(onceguard, tmp_path, table, option):
    values = (CONSUME if table == "consume" else RELAY)[option]
    codes = []
    for value in values:
        (tmp_path / "c.toml").write_text(toml_text({table: [{**TABLES[table], option: value}]}))
        done = run(onceguard, tmp_path, "check", "--config", "c.toml")
        assert done.returncode in (0, 3), (value, done)
        if done.returncode == 3:
            faults = [line for line in done.stderr.splitlines() if f"[[{table}]]" in line]
            assert faults and all(option in line for line in faults), (value, done)
            assert all(line.startswith("c.toml:") for line in faults), (value, done)
        codes.append(done.returncode)
    # What is negative, or beyond what a number can hold is refused everywhere.
    for value, code in zip(values, codes):
        if value in ("-1s", -1, "-9223372036854775808ms", -2**63, "9223372036854775808ms", "1e9s"):
            assert code == 3, value


@pytest.mark.parametrize("option, values", [
    ("--wait", LENGTHS), ("--every", LENGTHS), ("--fresh-after", LENGTHS), ("--timeout", LENGTHS),
    ("--grace", LENGTHS), ("--lease", LENGTHS), ("--backoff", LENGTHS), ("--backoff-max", LENGTHS),
    ("--retry", NUMBERS), ("--success", NUMBERS)])
def test_a_flag_of_exec_runs_the_command_once_or_not_at_all(onceguard, tmp_path, option, values):
    for place, value in enumerate(values):
        if value == "":
            continue
        words = ["exec", "--store", "sqlite:x.db", "--key", f"k{place}", f"{option}={value}", "--",
                 "sh", "-c", f"echo x >> ran{place}"]
        first = run(onceguard, tmp_path, *words)
        marks = tmp_path / f"ran{place}"
        if first.returncode != 0:
            # Nothing but 0 is kept where another code is the only success.
            assert first.returncode in (2, 3) and not marks.exists(), (value, first)
            assert option in first.stderr, (value, first)
            continue
        if option == "--success" and str(value) != "0":
            continue
        assert run(onceguard, tmp_path, *words).returncode == 0, value
        assert marks.read_text() == "x\n", (value, "the repeat ran again")


@pytest.mark.parametrize("option", ["--window", "--retention", "--wait", "--lease", "--backoff"])
def test_a_flag_of_mcp_is_taken_or_refused(onceguard, tmp_path, option):
    for value in LENGTHS:
        if value == "":
            continue
        done = subprocess.run(
            [str(onceguard), "mcp", "--store", "sqlite:m.db", f"{option}={value}", "--", "cat"],
            input="", capture_output=True, text=True, cwd=tmp_path, env=clean_environment(),
            timeout=60, check=False)
        assert done.returncode in (0, 2, 3), (value, done)
        if done.returncode:
            assert option in done.stderr, (value, done)
        if value.startswith("-") or value == "9223372036854775808ms":
            assert done.returncode in (2, 3), (value, done)


def test_a_message_is_handled_once_with_everything_as_long_as_it_may_be(consume, stream,
                                                                       own_upstream):
    for _ in range(2):
        stream.add("x", "m1")
    consumer = consume(to=own_upstream.url, timeout="1d", lease="1d", backoff="1d",
                       backoff_max="1d", attempts=3, retention="3650d", concurrency=1000)
    settled(consumer, 2)
    assert own_upstream.runs("m1") == 1
    assert consumer.stop() == 0


@pytest.mark.parametrize("hold, is_one", [
    ("0s", False), ("1ms", False), ("99ms", False), ("365d", True), ("366d", False),
    ("9223372036854775807ms", False)])
def test_a_hold_of_any_length_is_one_or_is_refused(consume, stream, own_upstream, hold, is_one):
    stream.add("x", "m1")
    consumer = consume(to=own_upstream.url, ready="broker-connected" if is_one else None,
                       **{"from": stream.url.replace("hold=5s", f"hold={hold}")})
    if not is_one:
        assert consumer.process.wait(60) == 3
        assert "the parameter hold " in (consumer.folder / "log").read_text()
        return
    settled(consumer, 1)
    assert own_upstream.runs("m1") == 1
    assert consumer.stop() == 0
