"""A command has a control group of its own, where the system lets it be made: what escapes from
every parent ends with it."""

import os
import pathlib
import re
import signal
import sys

from support.executing import none_left, processes_with
from support.waiting import stands_still, wait_until

# Takes in the orphans of its own, and has one that is nobody's child and of no session of ours.
ESCAPES = r"""import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.execvp("sleep", [sys.argv[1], "300"])
    os._exit(0)
os.wait()
open("ready", "w").close()
if sys.argv[2] == "stays":
    os.execvp("sleep", ["sleep", "300"])
"""


def group_of(process):
    """The folder of a process's group in the hierarchy of version 2; None: it is not seen."""
    [own] = [line[3:] for line in pathlib.Path(f"/proc/{process}/cgroup").read_text().splitlines()
             if line.startswith("0::")] or [None]
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    found = re.search(r"^\S+ \S+ \S+ / (\S+) .* - cgroup2 ", mounts, re.MULTILINE)
    return None if own is None or found is None else pathlib.Path(found[1] + own)


def divisible():
    """As the kernel says here: a group can be made, and ended."""
    own = group_of("self")
    if own is None or pathlib.Path("/run/systemd/system").exists():
        return False
    tried = own / f"tried-by-tests-{os.getpid()}"
    try:
        tried.mkdir()
    except OSError:
        return False
    try:
        return (tried / "cgroup.kill").exists()
    finally:
        tried.rmdir()


def parent_of(process):
    stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def groups():
    return {each.name for each in group_of("self").glob("onceguard-*")} if divisible() else set()


def test_a_group_is_made_where_it_can_be_and_is_gone_afterwards(exec_, key):
    done = exec_.run(key, "cat", "/proc/self/cgroup")
    assert done.code == 0
    [line] = [line for line in done.out.decode().splitlines() if line.startswith("0::")]
    assert bool(re.search(r"/onceguard-\d+-\d+$", line)) == divisible(), line
    wait_until(lambda: line.rpartition("/")[2] not in groups(), what="the end of the group")


def escaping(exec_, key, how):
    process = exec_.begin(key, sys.executable, "-c", ESCAPES, f"of-{key}", how)
    wait_until((exec_.folder / "ready").exists, what="the orphan")
    [orphan] = wait_until(lambda: processes_with(f"of-{key}"), what="the orphan's name")
    return process, orphan


def test_a_guardian_that_is_killed_takes_along_what_escaped_its_tree(exec_, key):
    process, orphan = escaping(exec_, key, "stays")
    command = parent_of(orphan)
    group = group_of(orphan)
    os.kill(parent_of(command), signal.SIGKILL)
    done = exec_.end(process)
    assert done.code != 0
    if not divisible():  # no more than the command itself is known of then
        os.kill(orphan, signal.SIGKILL)
        return
    assert processes_with(f"of-{key}") == [] and not group.exists()


def test_what_escaped_ends_with_an_exec_that_is_killed(exec_, key):
    process, orphan = escaping(exec_, key, "stays")
    group = group_of(orphan)
    process.kill()
    exec_.end(process)
    none_left(f"of-{key}")
    wait_until(lambda: not divisible() or not group.exists(), what="the end of the group")


def is_empty(group):
    """Or gone: the next `exec` of anybody else beside these tests removes it."""
    try:
        return not divisible() or "populated 0" in (group / "cgroup.events").read_text()
    except FileNotFoundError:
        return True


def test_the_next_exec_removes_what_one_left_that_was_killed_with_its_guardian(exec_, key):
    """Nobody is left then who could. What the command has started runs on, and keeps the group."""
    process, orphan = escaping(exec_, key, "stays")
    guardian, group = parent_of(parent_of(orphan)), group_of(orphan)
    if divisible():
        (group / "onceguard-1-x").mkdir()  # made by the command: it goes along
    os.kill(process.pid, signal.SIGSTOP)  # lest it notice the end of the guardian
    stands_still(process.pid)
    os.kill(guardian, signal.SIGKILL)
    process.kill()
    exec_.end(process)
    assert exec_.run(f"{key}-beside", "true").code == 0
    assert processes_with(f"of-{key}") == [orphan] and group_of(orphan) == group
    os.kill(orphan, signal.SIGKILL)
    none_left(f"of-{key}")
    wait_until(lambda: is_empty(group), what="the end of the group's processes")
    assert exec_.run(f"{key}-next", "true").code == 0
    assert not divisible() or not group.exists()


def test_a_group_within_a_group_ends_too(exec_, key):
    """`exec` within `exec`, killed with its guardian."""
    inner = exec_.words(f"{key}-inner", sys.executable, "-c", ESCAPES, f"of-{key}", "stays")
    process = exec_.begin(key, *inner)
    wait_until((exec_.folder / "ready").exists, what="the orphan")
    [orphan] = wait_until(lambda: processes_with(f"of-{key}"), what="the orphan's name")
    outer = group_of(orphan).parent
    process.kill()
    exec_.end(process)
    none_left(f"of-{key}")
    wait_until(lambda: not divisible() or not outer.exists(), what="the end of both groups")


def test_what_a_command_leaves_running_keeps_its_group_until_it_ends(exec_, key):
    process, orphan = escaping(exec_, key, "goes")
    assert exec_.end(process).code == 0
    group = group_of(orphan)
    assert processes_with(f"of-{key}") == [orphan] and group.exists()
    os.kill(orphan, signal.SIGKILL)
    wait_until(lambda: not divisible() or not group.exists(), what="the end of the group")
