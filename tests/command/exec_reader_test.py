"""`onceguard exec`: who reads its output and does not read holds up no lease and no timeout."""

import signal

from support.executing import none_left, processes_with
from support.waiting import wait_until

MIB = 1 << 20
FLOOD = "head -c 300000 /dev/zero; "


def sleeper(exec_, key, *command, **how):
    """Its output is a pipe that nobody reads until `end`."""
    return exec_.begin(key, *command, bufsize=0, **how)


def test_a_timeout_ends_a_command_whose_output_nobody_reads(exec_, key):
    process = sleeper(exec_, key, "bash", "-c",
                      FLOOD + f"(exec -a of-{key} sleep 300); echo late >>effect",
                      options=["--timeout", "3s"])
    wait_until(lambda: exec_.state(key) == "unknown", what="the end by the timeout")
    none_left(f"of-{key}")
    assert process.poll() is None  # what was written waits for its reader
    assert not (exec_.folder / "effect").exists()
    done = exec_.end(process)
    assert (done.code, done.out) == (128 + 15, bytes(300_000)) and b"timeout" in done.err


def test_a_lost_lease_ends_a_command_whose_output_nobody_reads(exec_, key):
    process = sleeper(exec_, key, "bash", "-c", FLOOD + f"(exec -a of-{key} sleep 300)",
                      options=["--lease", "3s", "--grace", "1s"])
    wait_until(lambda: processes_with(f"of-{key}"), what="the sleeper")
    exec_.release_running(key)
    none_left(f"of-{key}")
    assert process.poll() is None
    exec_.end(process)


def test_a_finished_command_is_settled_before_its_output_is_shown(exec_, key):
    """Its key would stay busy, and become unknown when the caller is killed."""
    process = sleeper(exec_, key, "sh", "-c", "head -c 4000000 /dev/zero")
    wait_until(lambda: exec_.state(key) == "completed", what="the settle")
    assert process.poll() is None
    again = exec_.run(key, "sh", "-c", "head -c 4000000 /dev/zero")
    assert (again.code, len(again.out)) == (0, 4_000_000)
    assert exec_.end(process).triple == again.triple


def test_a_signal_ends_the_wait_for_a_reader_when_all_is_settled(exec_, key):
    process = sleeper(exec_, key, "sh", "-c", FLOOD)
    wait_until(lambda: exec_.state(key) == "completed", what="the settle")
    process.terminate()
    assert process.wait(60) == -signal.SIGTERM
    exec_.end(process)
    assert len(exec_.run(key, "sh", "-c", FLOOD).out) == 300_000


def test_more_than_may_wait_holds_up_the_command_and_not_its_timeout(exec_, key):
    """As a pipe holds it up: 64 MiB wait on the disk, and no more."""
    process = sleeper(exec_, key, "sh", "-c", "yes; echo never >>effect",
                      options=["--timeout", "3s"])
    wait_until(lambda: exec_.state(key) == "unknown", timeout=60, what="the end by the timeout")
    seen = 0
    while block := process.stdout.read(MIB):
        seen += len(block)
    assert exec_.end(process).code == 128 + 15
    assert 300_000 < seen <= 66 * MIB


def test_a_reader_that_comes_late_gets_all_in_order(exec_, key):
    """What waits in memory, on the disk and behind it."""
    program = ("import sys\nfor i in range(200000): sys.stdout.write('%015d\\n' % i)\n"
               "sys.stdout.flush()\nopen('written', 'w').close()")
    process = sleeper(exec_, key, "python3", "-c", program)
    wait_until(lambda: (exec_.folder / "written").exists(), what="the end of the writes")
    assert exec_.end(process).out == b"".join(b"%015d\n" % i for i in range(200_000))


def test_a_reader_on_a_full_disk_still_gets_all(exec_, key):
    """Without room on the disk, the command waits for its reader."""
    process = sleeper(exec_, key, "sh", "-c", "head -c 3000000 /dev/zero",
                      environment={"TMPDIR": "/nowhere"},
                      options=["--output-dir", "/dev/null/nowhere"])
    assert exec_.end(process).triple == (0, bytes(3_000_000), b"")
