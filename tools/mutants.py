#!/usr/bin/env python3
"""Plants the bugs of tools/mutants/ and runs the suites that should notice them.

    tools/mutants.py check             is the data right: is each `was` found once
    tools/mutants.py run [ROOM...]     build, run, and print what nobody noticed
        --only TEXT                    bugs whose names have this part
        --sample N [--seed S]          so many of them, drawn by the seed (1)
        --jobs N                       so many suites at once (one per core)
        --build no|only                the build is up to date; nothing is run

All bugs are in one build (build/mutants), each behind a switch; the environment variable
PLANTED_BUG has the number of the one that is on. tools/mutants/README.md describes the data.
"""
import argparse
import collections
import concurrent.futures
import fcntl
import os
import random
import re
import signal
import subprocess
import sys
import time

from planted_bugs import FORMS, ROOT, places_of, read_all

PLACE = ROOT / "build/mutants"
TREE = PLACE / "tree"  # the sources with the switches
BUILD = PLACE / "build"
WANTED = 0.95  # the share that is noticed
# What text of SQL and Lua goes through on its way to the server.
SEAMS = [
    ("src/store/postgres/schema.cpp", "hash.part(text)", "hash.part(planted::text(text))"),
    ("src/store/postgres/schema.cpp", "out += text;", "out += planted::text(text);"),
    ("src/store/postgres/schema.cpp", "std::string(one.sql)", "planted::text(one.sql)"),
    ("src/store/postgres/migration_session.cpp", "find_key_index.text",
     "planted::text(find_key_index.text)"),
    ("src/store/postgres/connection/session_setup.cpp", "each->text,",
     "planted::text(each->text).c_str(),"),
    ("src/store/postgres/connection/connection.cpp", "each.sent->text)",
     "planted::text(each.sent->text).c_str())"),
    ("src/store/redis/commands/scripts.cpp", "std::string(found->text)",
     "planted::text(found->text)"),
    ("src/messaging/postgres_queue/statements.cpp", 'filled(std::move(text), "{due}", due_rows)',
     'filled(planted::text(text), "{due}", due_rows)'),
    ("src/messaging/postgres_queue/statements.cpp", '"{fresh}", fresh_rows',
     '"{fresh}", planted::text(fresh_rows)'),
]

HEADER = """\
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>

namespace planted {

inline const int chosen = [] {
  const char* const text = std::getenv("PLANTED_BUG");
  return text == nullptr ? 0 : std::atoi(text);
}();

constexpr bool on(int number) { return !__builtin_is_constant_evaluated() && number == chosen; }

struct replacement {
  int number;
  std::string_view was;
  std::string_view is;
};
inline constexpr replacement replacements[] = {
    {0, "", ""},
%s};

inline std::string text(std::string_view right) {
  std::string out(right);
  for (const auto& each : replacements) {
    const auto at = each.number == 0 || !on(each.number) ? out.npos : out.find(each.was);
    if (at != out.npos) out.replace(at, each.was.size(), each.is);
  }
  return out;
}

}  // namespace planted
"""


# --- the build ----------------------------------------------------------------------------------

def planted(text, places):
    """The source with the switches of these places."""
    for begin, end, mutant in reversed(places):
        if mutant.form != "text":
            switch = f"planted::on({mutant.number})"
            text = text[:begin] + FORMS[mutant.form].format(
                switch=switch, wrong=mutant.wrong, right=mutant.was) + text[end:]
    return text


def put(path, text):
    """Writes the file, unless it has this text: then nothing is to be compiled anew."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make_tree(mutants):
    errors = []
    places = places_of(mutants, errors)
    TREE.mkdir(parents=True, exist_ok=True)
    for path in ROOT.iterdir():
        link = TREE / path.name
        if path.name in ("src", "include", "build") or path.name.startswith(".") or \
                os.path.lexists(link):
            continue
        link.symlink_to(path)
    kept = set()
    for top in ("src", "include"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file():
                name = str(path.relative_to(ROOT))
                text = planted(path.read_text(encoding="utf-8"), places.get(name, []))
                for file, was, instead in SEAMS:
                    if file == name:
                        assert text.count(was) == 1, f"{file}: {was}"
                        text = text.replace(was, instead)
                put(TREE / name, text)
                kept.add(TREE / name)
        for path in (TREE / top).rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()
    raw = 'R"planted({})planted"'
    rows = "".join(f"    {{{m.number}, {raw.format(m.was)}, {raw.format(m.wrong)}}},\n"
                   for m in mutants if m.form == "text")
    put(TREE / "planted.hpp", HEADER % rows)


def build(mutants, suites):
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds at once would break one another
        build_alone(mutants, suites)


def build_alone(mutants, suites):
    make_tree(mutants)
    flags = f"-include {TREE}/planted.hpp -w"  # a bug may leave a name unused
    run_or_die(["cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1",
                "-DCMAKE_C_COMPILER=clang-16", "-DCMAKE_CXX_COMPILER=clang++-16",
                "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=10",
                f"-DCMAKE_CXX_FLAGS={flags}"], PLACE / "configure.log")
    targets = {suite.split(":")[0] for suite in suites if ".py" not in suite}
    if any(".py" in suite for suite in suites):
        targets |= {"examples", "test_clock", "test_crash", "test_names", "send_with",
                    "execute_charge", "order_stops", "kafka_server"}
    run_or_die(["cmake", "--build", str(BUILD), "--target", "onceguard", *sorted(targets)], None)


def run_or_die(command, log):
    out = open(log, "w", encoding="utf-8") if log else None
    if subprocess.run(command, stdout=out, stderr=out, check=False).returncode != 0:
        if log:
            sys.stderr.write(log.read_text(encoding="utf-8"))
        sys.exit(f"mutants: {command[0]} failed")


# --- the runs -----------------------------------------------------------------------------------

def command_of(suite):
    program, _, rest = suite.partition(":")
    if program.endswith(".py"):
        return ["/usr/bin/python3", "-m", "pytest", "-q", "-x", suite], ROOT / "tests"
    filters = [f"--gtest_filter={rest}"] if rest else []
    return [str(BUILD / "tests" / program), "--gtest_brief=1", "--gtest_fail_fast", *filters], BUILD


def run_suite(suite, number, limit):
    """(what failed or "", seconds)."""
    command, folder = command_of(suite)
    environment = dict(os.environ, PLANTED_BUG=str(number), ONCEGUARD_BIN=str(BUILD / "onceguard"))
    environment.setdefault("ONCEGUARD_TEST_SCALE", "0.3")
    begin = time.monotonic()
    running = subprocess.Popen(command, cwd=folder, env=environment, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, _ = running.communicate(timeout=limit)
        code = running.returncode
    except subprocess.TimeoutExpired:
        text, code = "", None
    finally:
        try:
            os.killpg(running.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        running.wait()
    seconds = time.monotonic() - begin
    if code != 0 and number == 0:
        (PLACE / (re.sub(r"\W+", "_", suite) + ".log")).write_text(text, encoding="utf-8")
    if code == 0:
        ran = re.search(r"\b[1-9]\d* (?:tests? from|passed)", text)
        return ("" if ran else "no test ran"), seconds
    if code is None:
        return f"not done after {limit:.0f} s", seconds
    names = re.findall(r"^(?:\[  FAILED  \]|FAILED|ERROR) (\S+)", text, re.MULTILINE)
    return names[0] if names else f"ended with {code}", seconds


def control(suite):
    """The suite without a bug: its seconds, or why it can't be used."""
    failed, seconds = run_suite(suite, 0, 900)
    return suite, failed, seconds


def trial(mutant, limits):
    """(mutant, the suite and test that noticed it or "", seconds)."""
    seconds = 0.0
    for suite in mutant.suites:
        failed, took = run_suite(suite, mutant.number, limits[suite])
        seconds += took
        if failed:
            return mutant, f"{suite.split(':')[0]}: {failed}", seconds
    return mutant, "", seconds


def run_all(mutants, jobs):
    """(rows of mutant and what noticed it, what failed without a bug)."""
    suites = sorted({suite for mutant in mutants for suite in mutant.suites})
    limits = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        print(f"== {len(suites)} suites without a bug", flush=True)
        broken = {}
        for suite, failed, seconds in pool.map(control, suites):
            limits[suite] = 30 + 5 * seconds
            if failed:
                broken[suite] = failed
                print(f"fails without a bug: {suite}: {failed} (see {PLACE}/*.log)", flush=True)
        # What such a suite says of a bug is worth nothing.
        mutants = [each for each in mutants if not broken.keys() & set(each.suites)]
        print(f"== {len(mutants)} bugs", flush=True)
        rows = []
        for done in concurrent.futures.as_completed(
                [pool.submit(trial, mutant, limits) for mutant in mutants]):
            mutant, noticed, seconds = done.result()
            rows.append((mutant, noticed))
            print(f"{len(rows):4} {'noticed ' if noticed else 'SURVIVED'} {seconds:6.1f} s  "
                  f"{mutant}  {noticed}", flush=True)
    return rows, broken


def summary(rows, equivalent):
    rooms = collections.defaultdict(lambda: [0, 0])
    for mutant, noticed in rows:
        rooms[mutant.room][0] += 1
        rooms[mutant.room][1] += bool(noticed)
    print(f"\n{'room':28} bugs  noticed")
    for room, (count, found) in sorted(rooms.items()):
        print(f"{room:28} {count:4}  {found:4}")
    for mutant in equivalent:
        print(f"equivalent: {mutant}: {mutant.equivalent}")
    for mutant, noticed in sorted(rows, key=lambda row: str(row[0])):
        if not noticed:
            print(f"survived: {mutant} ({mutant.file})")
    found = sum(bool(noticed) for _, noticed in rows)
    share = found / max(1, len(rows))
    print(f"{found} of {len(rows)} planted bugs noticed ({100 * share:.1f} %, "
          f"wanted {100 * WANTED:.0f} %), {len(equivalent)} equivalent")
    return share >= WANTED


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["check", "run"])
    parser.add_argument("rooms", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", choices=["yes", "no", "only"], default="yes")
    options = parser.parse_args()
    mutants, errors = read_all()
    if errors:
        sys.exit("\n".join(errors))
    if options.what == "check":
        print(f"{len(mutants)} planted bugs, each in its place")
        return 0
    known = {mutant.room for mutant in mutants}
    unknown = [room for room in options.rooms if room not in known]
    if unknown:
        sys.exit(f"mutants: no bugs of {unknown}; there are some of: {' '.join(sorted(known))}")
    chosen = [mutant for mutant in mutants if options.only in mutant.name
              and (not options.rooms or mutant.room in options.rooms)]
    equivalent = [mutant for mutant in chosen if mutant.equivalent]
    chosen = [mutant for mutant in chosen if not mutant.equivalent]
    if options.sample is not None:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    if options.build != "no":
        build(mutants, {suite for mutant in chosen for suite in mutant.suites})
    if options.build == "only":
        return 0
    rows, broken = run_all(chosen, options.jobs)
    right = summary(rows, equivalent)
    for suite, failed in broken.items():
        print(f"fails without a bug: {suite}: {failed}")
    return 0 if right and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
