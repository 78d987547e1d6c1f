"""The inbox part of run.py: messages through the transactional inbox on PostgreSQL, in batches,
beside a consumer that does the usual article's SELECT and INSERT for each message. One connection
each, on one server that waits for its disk, in turn, in one run."""

import os
import re
import statistics
import subprocess

from postgres import DURABLE, in_turn, line
from support.postgres import Postgres

TABLES = "CREATE TABLE handled (id text PRIMARY KEY); CREATE TABLE effects (id text)"


def measure_inbox(programs, rounds, seconds):
    server = Postgres(DURABLE).start()
    try:
        store = server.create_store()
        with server.connect(store) as database:
            database.execute(TABLES)

        def rate(*words):
            done = subprocess.run(
                [os.path.join(programs, "bench/inbox_bench"), server.url(store), words[0],
                 str(seconds), *words[1:]], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit("inbox_bench failed:\n" + done.stdout + done.stderr)
            return float(re.fullmatch(r"(\d+) per second\n", done.stdout)[1])

        print(f"{'messages per second, one connection, durable':<46} "
              f"{'onceguard':>9} {'article':>9} {'ratio':>7}   goal")
        reported = in_turn(rounds, lambda: rate("inbox", "64"), lambda: rate("article"),
                           lambda: rate("inbox", "1"))
        batches, article, single = (statistics.median(column) for column in zip(*reported))
        line("batches of 64 / SELECT, INSERT, effect each", batches, article,
             statistics.median(b / a for b, a, _ in reported), ">= 5")
        line("one message a transaction / the same", single, article,
             statistics.median(s / a for _, a, s in reported), "")
    finally:
        server.close()
