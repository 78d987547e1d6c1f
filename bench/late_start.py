"""How soon a gateway that started without PostgreSQL serves guarded requests after its start.

./dev build, and then: python3 bench/late_start.py [ROUNDS]
"""
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.gateway import Gateway  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.upstream import Upstream  # noqa: E402
from support.waiting import Stopwatch, wait_until  # noqa: E402

GOAL = 2.0  # seconds


def measure(server, upstream, folder, round_number):
    """Seconds from the launch of PostgreSQL, with its own start, to the first guarded answer."""
    url = server.url(server.create_store())
    server.stop()
    gateway = Gateway(ROOT / "build/release/onceguard", folder / str(round_number), upstream.url,
                      {"store": {"url": url}})
    try:
        gateway.start()
        gateway.logged("store-not-opened")
        clock = Stopwatch()
        server.start()
        wait_until(lambda: gateway.post(key=f"key-{round_number}").status == 201, 30)
        return clock.seconds
    finally:
        gateway.close()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    server = Postgres().start()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            upstream = Upstream(folder)
            try:
                taken = [measure(server, upstream, folder, number) for number in range(rounds)]
            finally:
                upstream.close()
    finally:
        server.close()
    print(f"ready after PostgreSQL's start: median {statistics.median(taken):.2f} s, "
          f"most {max(taken):.2f} s of {rounds} (goal {GOAL} s)")
    return max(taken) > GOAL


if __name__ == "__main__":
    sys.exit(main())
