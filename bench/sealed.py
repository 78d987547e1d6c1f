"""A gateway that encrypts the answers that it keeps, against the same one that does not."""
import os
import secrets

from watched import compare, run_round

CONFIG = """
[gateway]
listen = "127.0.0.1:{port}"
threads = 1
[store]
url = "sqlite:{dir}/sealed-{name}.db"
{keys}
[log]
level = "error"
[[upstream]]
name = "up"
url = "http://127.0.0.1:{upstream}"
"""


def start(servers, name, keys, upstream, free_port, binary):
    port = free_port()
    path = os.path.join(servers.dir, f"sealed-{name}.toml")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(port=port, dir=servers.dir, name=name, keys=keys,
                                 upstream=upstream))
    return port, servers.start([binary, "gateway", "--config", path], port)


def bench_sealed(servers, rounds, seconds, wrk, cpu_seconds, free_port, binary, nginx):
    """First runs alone: replays come from memory, where nothing is encrypted."""
    ring = os.path.join(servers.dir, "record-keys")
    with open(os.open(ring, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write(f"bench {secrets.token_hex(32)}\n")
    print(f"{'first runs, 64 connections':<34} {'sealed':>9} {'plain':>9} {'ratio':>7}   "
          f"{'CPU us':>7} {'plain':>7} {'ratio':>7}   goal")
    for title, size in (("answers of 180 bytes", 100), ("answers of 3.5 KB", 3_400)):
        upstream = free_port()
        servers.nginx(f"sealed-upstream-{size}", 1, nginx(upstream, size), upstream)
        sides = []
        for name, keys in (("on", f'encryption_keys_file = "{ring}"'), ("off", "")):
            port, process = start(servers, f"{name}-{size}", keys, upstream, free_port, binary)
            sides.append(lambda port=port, process=process: run_round(
                port, process, "unique.lua", seconds, wrk, cpu_seconds))
        compare(title, rounds, *sides)
