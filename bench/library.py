"""The library inside a program: a call, and a server on Boost.Beast, each with it and without."""
import subprocess

from side_by_side import compare

GOAL = ">= 0.85"


def bench_library(servers, rounds, seconds, wrk, send_once, free_port, programs):
    subprocess.run([f"{programs}/bench/library_bench"], check=True)

    def server(mode):
        port = free_port()
        servers.start([f"{programs}/bench/beast_bench", str(port), mode], port)
        return port

    guarded, bare = server("guarded"), server("bare")
    send_once(guarded)
    print(f"\n{'requests per second, 64 connections':<46} "
          f"{'guarded':>9} {'bare':>9} {'ratio':>7}   goal      stolen")
    for title, script, goal in (("Beast, first requests, memory store", "unique.lua", GOAL),
                                ("Beast, unguarded pass-through", "plain.lua", GOAL),
                                ("Beast, replays of one key", "repeat.lua", "")):
        compare(title, rounds, lambda name=script: wrk(guarded, name, seconds),
                lambda name=script: wrk(bare, name, seconds), goal)
    print()
