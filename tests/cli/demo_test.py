"""`onceguard demo`: its counts, its exit code, and that it leaves nothing behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import urllib.request

import pytest

from support.waiting import wait_until

EXPECTED = [(4, 1), (50, 1), (2, 1), (2, 2), (1, 1), (6, 3), (2, 1)]  # without, with


def left_in(folder):
    """Without what ThreadSanitizer makes as a program starts, and leaves if that ends just then."""
    return [file for file in folder.iterdir() if not file.name.startswith("tsan.rodata.")]


def children_of(pid):
    """The process ids of the children, from /proc."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def start_demo(onceguard, tmp_path):
    """Starts the demo with a temporary folder of its own; whatever is left of it is killed."""
    running = []

    def start(*flags, **variables):
        environment = dict(os.environ, TMPDIR=str(tmp_path), ONCEGUARD_LISTEN="nonsense",
                           **variables)
        demo = subprocess.Popen([onceguard, "demo", *flags], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=environment)
        running.append(demo)
        return demo

    yield start
    for demo in running:
        if demo.poll() is None:
            demo.kill()
        demo.communicate()


def test_every_count_is_right_and_nothing_is_left(start_demo, tmp_path):
    demo = start_demo("--json")
    output, errors = demo.communicate(timeout=240)
    assert (demo.returncode, errors) == (0, "")
    reported = json.loads(output)
    counts = [(s["without"]["charges"], s["with"]["charges"]) for s in reported["scenes"]]
    assert counts == EXPECTED
    assert reported["right"] and all(s["right"] and not s["faults"] for s in reported["scenes"])
    crowd = reported["scenes"][1]["with"]["seen"]
    assert "1 × 201" in crowd and any(seen.startswith("Retry-After: ") for seen in crowd)
    assert reported["first_ms"] > 0 and reported["repeat_ms"] > 0
    assert not left_in(tmp_path)


def test_the_story_names_the_command_for_ones_own_service(start_demo):
    demo = start_demo()
    output, _ = demo.communicate(timeout=240)
    assert demo.returncode == 0
    assert "\x1b" not in output  # no colours where no terminal is
    assert re.search(r"onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000",
                     output)
    assert output.rstrip().endswith("Every count is right: each order took effect once.")
    assert "audit" not in output  # lines for programs


def test_no_log_line_stands_amid_the_scenes(start_demo):
    demo = start_demo(LD_DEBUG="statistics")  # each program logs to its standard error
    output, errors = demo.communicate(timeout=240)
    assert demo.returncode == 0
    assert "runtime linker statistics" in errors
    assert "$ onceguard keys list" in output and "runtime linker statistics" not in output


def test_a_gateway_that_dies_makes_the_demo_fail(start_demo, tmp_path):
    demo = start_demo("--json")
    gateway = wait_until(lambda: children_of(demo.pid), what="a gateway")[0]
    os.kill(gateway, signal.SIGKILL)
    output, _ = demo.communicate(timeout=240)
    assert demo.returncode == 1
    assert json.loads(output)["right"] is False
    assert not left_in(tmp_path)


def test_a_gateway_that_dies_amid_the_scenes_is_not_waited_for(start_demo):
    """The last scene waits for what the gateway passes on."""
    demo = start_demo()
    gateway = wait_until(lambda: children_of(demo.pid), what="a gateway")[0]
    while not demo.stdout.readline().startswith("1. "):
        assert demo.poll() is None, "it ended"
    os.kill(gateway, signal.SIGKILL)
    output, _ = demo.communicate(timeout=240)
    assert demo.returncode == 1
    assert "longer than a minute" not in output


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_cleans_up(start_demo, tmp_path, how):
    demo = start_demo()
    gateway = wait_until(lambda: children_of(demo.pid), what="a gateway")[0]
    demo.send_signal(how)
    demo.communicate(timeout=240)
    assert demo.returncode == 1
    assert not pathlib.Path(f"/proc/{gateway}").exists()
    assert not left_in(tmp_path)


def test_a_killed_demo_ends_its_gateway(start_demo):
    demo = start_demo()
    gateway = wait_until(lambda: children_of(demo.pid), what="a gateway")[0]
    demo.kill()
    demo.communicate(timeout=240)
    wait_until(lambda: not pathlib.Path(f"/proc/{gateway}/fd").exists(), what="the gateway's end")


def look_at_the_page(url):
    """Customers go on paying, and there is something to see in each view."""
    def get(target):
        with urllib.request.urlopen(url + target, timeout=60) as answer:
            return json.loads(answer.read())

    with urllib.request.urlopen(url, timeout=60) as page:
        assert b"page.js" in page.read()
    wanted = {"ran", "replayed", "busy", "mismatch", "unknown"}
    wait_until(lambda: wanted <= get("api/overview")["totals"].keys(), what="all kinds of answers",
               timeout=60)
    wait_until(lambda: "upstream_broken" in {
        one["why"] for one in get("api/records?attention=true")["records"]}, what="one in doubt")
    wait_until(lambda: get("api/overview")["records"].get("by_state", {}).get("completed"),
               what="a count of the records")
    before = get("api/recent")["after"]
    wait_until(lambda: get(f"api/recent?after={before}&limit=20")["requests"], what="more requests")


def test_keep_leaves_shop_and_gateway_running(start_demo, tmp_path):
    demo = start_demo("--keep")
    command = ""
    while "curl" not in command:
        command = demo.stderr.readline()
        assert command, "it ended"
    pay = re.sub(r"^\s*curl -i", "curl -si", command.strip())
    answers = [subprocess.run(pay, shell=True, capture_output=True, text=True, check=True).stdout
               for _ in range(2)]
    first, again = (answer.replace("\r", "").split("\n\n", 1) for answer in answers)
    assert first[0].startswith("HTTP/1.1 201") and "Idempotent-Replayed" not in first[0]
    assert "Idempotent-Replayed: true" in again[0]
    assert first[1] == again[1]
    page = command
    while not page.strip().startswith("http://"):
        page = demo.stderr.readline()
        assert page, "it ended"
    look_at_the_page(page.strip())
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=240)
    assert demo.returncode == 0
    assert not left_in(tmp_path)
