#!/usr/bin/env python3
"""Runs suites by ctest, and says what is going on.

    tools/suites.py PRESET JOBS [arguments of ctest]

Prints a line for each suite as it ends, with a bar of what is left, then the ten slowest. What a
failed suite printed follows its line. The report, build/PRESET/junit.xml, is that of ctest.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COSTS = ROOT / "tests/suite_seconds.json"  # as they were measured last
ENDED = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: (\S+) \.* *(.*?) +([\d.]+) sec")
STARTED = re.compile(r"^ +Start +\d+: ")
WIDTH = 20  # of the bar
MEMORY = pathlib.Path("/dev/shm")
ROOM = 6 << 30  # bytes; the suites of one run use less than half of them
SLOTS = 2  # of a suite; one that does little but wait has one (tests/CMakeLists.txt)


class Progress:
    """What is left, by the seconds that each suite took when they were measured."""

    def __init__(self, costs):
        self.costs = costs
        self.usual = sorted(costs.values())[len(costs) // 2] if costs else 1.0
        self.done = 0.0
        self.all = 0.0
        self.ended = []

    def cost(self, name):
        return self.costs.get(name, self.usual)

    def expect(self, names):
        self.all = sum(self.cost(name) for name in names)

    def end(self, name, word, seconds):
        self.ended.append((seconds, name, word))
        self.done += self.cost(name)

    def bar(self):
        share = min(1.0, self.done / self.all) if self.all else 0.0
        full = int(share * WIDTH)
        return f"[{'#' * full}{'.' * (WIDTH - full)}] {100 * share:3.0f} %"


def ctest(preset, *arguments):
    return ["ctest", "--test-dir", str(ROOT / "build" / preset), "--no-tests=error", *arguments]


def names_of(preset, arguments):
    """The suites that would run."""
    listed = subprocess.run(ctest(preset, "--show-only=json-v1", *arguments), capture_output=True,
                          text=True, check=False)
    if listed.returncode != 0:
        return []
    return [each["name"] for each in json.loads(listed.stdout)["tests"]]


@contextlib.contextmanager
def temporary_folder():
    """Where suites put the files of their servers and databases: in memory, where there is room.

    Nothing that a suite kills takes the kernel along, so a disk would add nothing but its work.
    Whoever sets TMPDIR has it used: `TMPDIR=/var/tmp ./dev test` runs all of them on a disk."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK | os.X_OK) \
            or shutil.disk_usage(MEMORY).free < ROOM:
        yield tempfile.gettempdir()
        return
    folder = tempfile.mkdtemp(prefix="og-", dir=MEMORY)  # short: names of sockets have 107 bytes
    os.chmod(folder, 0o1777)  # for servers with a user of their own
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(preset, jobs, arguments):
    with temporary_folder() as folder:
        return run_in(folder, preset, jobs, arguments)


def run_in(folder, preset, jobs, arguments):
    report = ROOT / "build" / preset / "junit.xml"
    report.unlink(missing_ok=True)
    progress = Progress(json.loads(COSTS.read_text()) if COSTS.is_file() else {})
    progress.expect(names_of(preset, arguments))
    begin = time.monotonic()
    # Node compiles the same packages in some hundred processes: newer ones keep what they compiled.
    environment = {"NODE_COMPILE_CACHE": str(ROOT / "build/node-cache"), **os.environ,
                   "TMPDIR": folder}
    running = subprocess.Popen(
        ctest(preset, "-j", str(SLOTS * int(jobs)),
              "--output-on-failure", "--output-junit", str(report),
              "--test-output-size-passed", "65536", "--test-output-truncation", "head",
              *arguments),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace")
    signal.signal(signal.SIGTERM, lambda *_: running.terminate())
    for line in running.stdout:
        ended = ENDED.match(line)
        if ended:
            number, count, name, word, seconds = ended.groups()
            progress.end(name, word, float(seconds))
            print(f"{progress.bar()} {number:>4}/{count} {word.strip('*').lower():8} "
                  f"{float(seconds):6.1f} s  {name}", flush=True)
        elif not STARTED.match(line):
            print(line, end="", flush=True)
    code = running.wait()
    print("\nthe slowest:")
    for seconds, name, _ in sorted(progress.ended, reverse=True)[:10]:
        print(f"  {seconds:6.1f} s  {name}")
    passed = sum(word == "Passed" for _, _, word in progress.ended)
    print(f"== build/{preset}: {passed} of {len(progress.ended)} suites passed "
          f"({time.monotonic() - begin:.0f} s)", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
