"""`onceguard exec` of `true` beside `flock -n` of it, in turn: the time of a whole call, and how
much of it the start of the program takes."""

import itertools
import os
import statistics
import subprocess
import tempfile
import time

GOALS = {"onceguard exec, a first run": 3, "onceguard exec, a repeat": 2}  # times flock


def timed(words):
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - begin)


def measure_commands(binary, rounds):
    """Milliseconds of each command, as medians of `rounds` times 20 calls, taken in turn."""
    with tempfile.TemporaryDirectory(prefix="onceguard-bench-") as folder:
        number = itertools.count()
        store = ["--store", f"sqlite:{folder}/keys.db"]
        commands = {
            "true": lambda: ["true"],
            "flock -n FILE true": lambda: ["flock", "-n", os.path.join(folder, "lock"), "true"],
            "onceguard --version": lambda: [binary, "--version"],
            "onceguard exec, a first run": lambda: [
                binary, "exec", *store, "--key", f"key-{next(number)}", "--", "true"],
            "onceguard exec, a repeat": lambda: [
                binary, "exec", *store, "--key", "key-0", "--", "true"],
        }
        times = {name: [] for name in commands}
        for _ in range(20 * rounds):
            for name, words in commands.items():
                times[name].append(timed(words()))
    flock = statistics.median(times["flock -n FILE true"])
    print(f"{'':<32} {'ms':>8} {'of flock':>9}   goal")
    for name, all_times in times.items():
        median = statistics.median(all_times)
        goal = f"<= {GOALS[name]}" if name in GOALS else ""
        print(f"{name:<32} {median:>8.2f} {median / flock:>9.2f}   {goal}")
