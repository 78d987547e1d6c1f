"""The usual middleware on Express, measured beside the gateway on the same database server."""

import pathlib
import socket
import statistics

HERE = pathlib.Path(__file__).resolve().parent


def start_express(servers, folder, environment):
    """The port of the service in that folder."""
    if not (HERE / folder / "node_modules").is_dir():
        raise SystemExit(f"run npm install in {HERE / folder} first")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = [f"{name}={value}" for name, value in environment.items()]
    # The kernel ends it along with this one.
    servers.start(["setpriv", "--pdeathsig", "KILL", "env", f"PORT={port}", *settings,
                   "NODE_ENV=production", "node", str(HERE / folder / "server.js")], port)
    return port


def against_express(port, express, rounds, seconds, wrk, send_once, goals):
    """`port` is the gateway's. `goals`: the ratios of first requests and of replays."""
    print(f"{'requests per second, 64 connections':<54} {'onceguard':>9} {'express':>9} "
          f"{'ratio':>7}   goal")
    for title, script, goal in zip(("guarded first requests", "replays"),
                                   ("unique.lua", "repeat.lua"), goals):
        if script == "repeat.lua":
            send_once(port), send_once(express)
        sides = (port, express)
        for side in sides:  # to warm up
            wrk(side, script, seconds)
        reported = [[wrk(side, script, seconds).rate for side in sides] for _ in range(rounds)]
        ours, theirs = (statistics.median(column) for column in zip(*reported))
        ratio = statistics.median(o / e for o, e in reported)
        print(f"{title:<54} {ours:>9,.0f} {theirs:>9,.0f} {ratio:>7.2f}   >= {goal:.2f} "
              f"{'met' if ratio >= goal else 'MISSED'}", flush=True)
