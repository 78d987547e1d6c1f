#!/usr/bin/python3
"""Makes the pictures of docs/page.md: `onceguard demo --keep` in Debian's Chromium, each with few
colours."""

import json
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/pictures"
SIZE_MAX = 60_000  # bytes: a page of the documentation is read over slow lines, too
SAMPLES = 15       # of 10 s each: so much of the charts is filled


def compress(path):
    """A picture of text and areas needs few colours; it is made once and read often."""
    subprocess.run(["pngquant", "--force", "--strip", "--speed", "1", "--output", path, "64", path],
                   check=True)
    return path.stat().st_size


def begin_demo(program):
    """The demo, and the address of its page."""
    demo = subprocess.Popen([program, "demo", "--keep"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
    for line in demo.stderr:
        if line.strip().startswith("http://"):
            return demo, line.strip().rstrip("/")
    raise SystemExit("the demo ended without a page")


def samples(url):
    with urllib.request.urlopen(f"{url}/api/overview", timeout=20) as answer:
        return len(json.loads(answer.read())["history"])


def main():
    FOLDER.mkdir(exist_ok=True)
    demo, url = begin_demo(sys.argv[1])
    try:
        while samples(url) < SAMPLES:
            time.sleep(1)
        subprocess.run(["node", ROOT / "tests/page/pictures.mjs"], check=True, text=True,
                       input=json.dumps({"url": url, "folder": str(FOLDER)}))
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(timeout=30)
    for path in sorted(FOLDER.glob("*.png")):
        size = compress(path)
        print(f"{path.relative_to(ROOT)}: {size} bytes")
        if size > SIZE_MAX:
            raise SystemExit(f"{path.name} is larger than {SIZE_MAX} bytes")


main()
