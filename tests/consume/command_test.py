"""`onceguard consume` with a command: what its end says of the message."""

import os
import pathlib
import signal

import pytest

from support.consumer import outcomes, settled
from support.waiting import wait_until

SCRIPT = """
import os, sys
payload = sys.stdin.buffer.read()
with open("effects", "ab") as effects:
    effects.write(b"%s %s\\n" % (os.environb[b"ONCEGUARD_MESSAGE_ID"], payload))
sys.exit(int(payload.split(b"=")[1]))
"""


def test_a_command_says_by_its_exit_code_what_became_of_the_message(consume, stream, tmp_path):
    (tmp_path / "handle.py").write_text(SCRIPT)
    for code in (0, 75, 65, 1):
        stream.add(f"code={code}", f"m{code}")
    consumer = consume(command=["/usr/bin/python3", "handle.py"], attempts=2)
    settled(consumer, 4)
    wait_until(lambda: len(consumer.events("message-dead")) == 2, 30, "the dead ones")
    found = {event["message"]: event["outcome"] for event in consumer.events()
             if event.get("outcome") not in (None, "busy", "failed")}
    assert found == {"m0": "handled", "m75": "dead", "m65": "dead", "m1": "unknown"}
    lines = (tmp_path / "effects").read_text().splitlines()
    assert sorted(lines) == ["m0 code=0", "m1 code=1", "m65 code=65", "m75 code=75", "m75 code=75"]


def test_a_command_gets_the_headers_that_it_is_to_have(consume, stream, tmp_path):
    stream.add("x", "m1", tenant="ada", other="no")
    script = 'printf "%s|%s|%s" "$ONCEGUARD_HEADER_TENANT" "$ONCEGUARD_HEADER_X_NONE" ' \
             '"$ONCEGUARD_HEADER_OTHER" > found'
    consumer = consume(command=["/bin/sh", "-c", script], headers=["tenant", "x-none"],
                       started=False)
    consumer.start(env={"ONCEGUARD_HEADER_X_NONE": "of the consumer"})
    settled(consumer, 1)
    assert (tmp_path / "found").read_text() == "ada||"


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_command_that_hangs_is_killed_and_unknown(consume, stream, size):
    """Also where it does not take all of its input."""
    stream.add("x" * size, "m1")
    consumer = consume(command=["/bin/sleep", "1000"], timeout="300ms")
    settled(consumer, 1)
    (event,) = consumer.events("message-unknown")
    assert "timeout" in event["reason"]


def test_a_command_that_a_signal_ends_is_unknown(consume, stream, tmp_path):
    stream.add("x", "m1")
    consumer = consume(command=["/bin/sh", "-c", "echo x >> effects; kill -KILL $$"])
    settled(consumer, 1)
    assert outcomes(consumer) == ["unknown"]
    assert (tmp_path / "effects").read_text() == "x\n"


def test_a_command_that_can_not_be_started_costs_no_attempts(consume, stream, tmp_path):
    stream.add("x", "m1")
    program = tmp_path / "handle"
    consumer = consume(command=[str(program)], attempts=2)
    wait_until(lambda: len(consumer.events("message-failed")) >= 4, 30, "four tries")
    assert "No such file" in consumer.events("consume-circuit-open")[0]["why"]
    program.symlink_to("/bin/true")
    settled(consumer, 1)
    assert outcomes(consumer) == ["handled"]


def test_headers_that_are_too_long_for_a_command_are_the_fault_of_their_message(consume, stream):
    stream.add("x", "m1", big="x" * 200_000)
    stream.add("x", "m2")
    consumer = consume(command=["/bin/true"], headers=["big"], attempts=2)
    settled(consumer, 2)
    assert sorted(outcomes(consumer)) == ["dead", "handled"]
    assert not consumer.events("consume-circuit-open")


def test_a_command_counts_although_the_parent_process_ignores_ended_children(consume, stream):
    stream.add("x", "m1")
    consumer = consume(command=["/bin/sh", "-c", "cat > /dev/null"], started=False)
    consumer.start(prefix=["/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"])
    settled(consumer, 1)
    assert outcomes(consumer) == ["handled"]


def test_a_command_counts_where_the_kernel_has_no_descriptors_of_processes(consume, stream):
    stream.add("x", "m1")
    consumer = consume(command=["/bin/sh", "-c", "cat > /dev/null; exit 65"], started=False)
    consumer.start(prefix=["strace", "-Dfqqo", "/dev/null", "-e", "trace=pidfd_open",
                           "-e", "inject=pidfd_open:error=ENOSYS"])
    settled(consumer, 1)
    assert outcomes(consumer) == ["dead"]


def test_a_command_has_the_usual_signals_and_its_own_message(consume, stream, tmp_path):
    stream.add("x", "m1")
    script = "env > found; grep SigIgn /proc/self/status >> found"
    consumer = consume(command=["/bin/sh", "-c", script], started=False)
    consumer.start(prefix=["env", "ONCEGUARD_MESSAGE_ID=of another"])
    settled(consumer, 1)
    lines = (tmp_path / "found").read_text().splitlines()
    assert [line for line in lines if line.startswith("ONCEGUARD_MESSAGE_ID=")] == [
        "ONCEGUARD_MESSAGE_ID=m1"]
    ignored = int(lines[-1].split()[1], 16)
    for one in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD):
        assert not ignored >> (one - 1) & 1, f"{one!r} is ignored"


def test_a_stopped_consumer_has_no_command_beyond_its_lease(consume, stream, tmp_path):
    """Another consumer may handle the message again by then."""
    script = ("trap '' TERM; "
              "while :; do echo x >> effects-$ONCEGUARD_MESSAGE_ID; sleep 0.05; done")
    consumer = consume(command=["/bin/sh", "-c", script], lease="3s", timeout="5m")

    def ends_in_time(message):
        effects = tmp_path / f"effects-{message}"
        stream.add("x", message)
        wait_until(effects.exists, 30, "the command")
        consumer.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: message in consumer.command("keys", "list", "--state", "unknown").stdout,
                   30, "the end of the lease")
        size = effects.stat().st_size
        wait_until(lambda: not commands_in(tmp_path), 1, "the end of the command")
        consumer.process.send_signal(signal.SIGCONT)
        wait_until(lambda: message in {event["message"] for event in
                                       consumer.events("message-unknown")}, 30, "the outcome")
        return effects.stat().st_size == size

    # On a busy machine, the guardian that ends the command may be late itself.
    assert any(ends_in_time(f"m{number}") for number in range(3))
    assert set(outcomes(consumer)) == {"unknown"}


def commands_in(folder):
    """The processes whose working directory it is, but for consumers and their guardians."""
    found = []
    for one in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            begun_here = os.readlink(one / "cwd") == str(folder)
            if begun_here and b"trap" in (one / "cmdline").read_bytes():
                found.append(one.name)
        except OSError:
            pass  # gone meanwhile
    return found
