#!/usr/bin/python3
"""Makes the pictures of docs/page.md: `onceguard demo --keep` in Debian's Chromium, each with few
colours. Either all of them are new afterwards, or none."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/pictures"
SIZE_MAX = 60_000  # bytes: a page of the documentation is read over slow lines, too
SAMPLES = 9        # of 10 s each: so much of the charts is filled
PATIENCE = 120     # seconds that a step may take


def wait_for(what, condition):
    """The condition's first value that is none of nothing; ends the program after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.2)
    raise SystemExit(f"no {what} within {PATIENCE} seconds")


def compress(path):
    """A picture of text and areas needs few colours; it is made once and read often."""
    subprocess.run(["pngquant", "--force", "--strip", "--speed", "1", "--output", path, "64", path],
                   check=True, timeout=PATIENCE)
    size = path.stat().st_size
    if size > SIZE_MAX:
        raise SystemExit(f"{path.name} has {size} bytes, and {SIZE_MAX} are enough")
    return size


def address_of(demo, output):
    """The address of the demo's page, once it says so."""
    if demo.poll() is not None:
        raise SystemExit(f"the demo ended: {output.read_text()}")
    lines = (line.strip() for line in output.read_text().splitlines())
    return next((line.rstrip("/") for line in lines if line.startswith("http://")), None)


def is_filled(url):
    with urllib.request.urlopen(f"{url}/api/overview", timeout=20) as answer:
        return len(json.loads(answer.read())["history"]) >= SAMPLES


def take(program, folder):
    """The pictures of one demo, in the folder."""
    output = folder / "output"
    with output.open("w") as out:
        demo = subprocess.Popen([program, "demo", "--keep"], stdout=subprocess.DEVNULL, stderr=out)
    try:
        url = wait_for("page", lambda: address_of(demo, output))
        wait_for("charts", lambda: is_filled(url))
        subprocess.run(["node", ROOT / "tests/page/pictures.mjs"], check=True, text=True,
                       input=json.dumps({"url": url, "folder": str(folder)}), timeout=2 * PATIENCE)
    finally:
        demo.send_signal(signal.SIGINT)
        try:
            demo.wait(timeout=30)
        except subprocess.TimeoutExpired:
            demo.kill()


def main():
    for needed in ("node", "pngquant", "chromium"):
        if shutil.which(needed) is None:
            raise SystemExit(f"{needed} is missing: ./dev deps")
    with tempfile.TemporaryDirectory(prefix="onceguard-pictures-") as made:
        take(sys.argv[1], pathlib.Path(made))
        sizes = {path: compress(path) for path in sorted(pathlib.Path(made).glob("*.png"))}
        FOLDER.mkdir(exist_ok=True)
        for path, size in sizes.items():
            shutil.copyfile(path, FOLDER / path.name)
            print(f"{FOLDER.relative_to(ROOT) / path.name}: {size} bytes")


if __name__ == "__main__":
    main()
