"""Onceguard beside proxies that guard nothing: the same upstream behind all, the same load before
each in turn, one worker or thread each."""

import dataclasses
import os
import statistics
import sys

from load_generator import cpu_seconds, send_once, wrk
from report import json_of, svg_of, table_of
from servers import free_port
from side_by_side import processor_time

HAPROXY = """
global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 60s
  http-reuse always
cache answers
  total-max-size 16
frontend all
  bind 127.0.0.1:{port} backlog 4096
  use_backend cached if {{ path /cached }}
  default_backend service
backend service
  server one 127.0.0.1:{upstream}
backend cached
  http-request cache-use answers
  http-response cache-store answers
  server one 127.0.0.1:{upstream}
"""

CADDY = """{{
  admin off
  auto_https off
}}
http://:{port} {{
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:{upstream}
}}
"""


@dataclasses.dataclass
class Peer:
    name: str
    port: int
    process: object
    script: str | None
    path: str = "/charges"


@dataclasses.dataclass
class Sample:
    """One round: requests a second, us of processor time a request, median latency in ms."""
    rate: float
    cpu: float
    p50: float


@dataclasses.dataclass
class Row:
    title: str
    connections: int
    samples: dict[str, list[Sample]]  # the first is ours, the second what ratios are of
    stolen: float                     # the share of the processors that a hypervisor took

    def ratio(self, name, other, figure="rate"):
        """The median of the rounds' ratios, the least and the largest."""
        pairs = zip(self.samples[name], self.samples[other])
        all_ratios = [getattr(a, figure) / getattr(b, figure) for a, b in pairs]
        return statistics.median(all_ratios), min(all_ratios), max(all_ratios)


def measure_row(title, peers, rounds, seconds, connections=64):
    samples = {peer.name: [] for peer in peers}
    for peer in peers:  # to warm up
        wrk(peer.port, peer.script, 1, connections, peer.path)
    begin = processor_time()
    for number in range(rounds):
        shift = number % len(peers)
        for peer in peers[shift:] + peers[:shift]:
            before = sum(cpu_seconds(peer.process))
            got = wrk(peer.port, peer.script, seconds, connections, peer.path)
            spent = sum(cpu_seconds(peer.process)) - before
            samples[peer.name].append(
                Sample(got.rate, spent / (got.rate * seconds) * 1e6, got.p50))
    spent, stolen = (now - before for now, before in zip(processor_time(), begin))
    return Row(title, connections, samples, stolen / spent)


def start_haproxy(servers):
    port = free_port()
    path = written(servers, "haproxy.cfg", HAPROXY.format(port=port, upstream=servers.upstream))
    return port, servers.start(["haproxy", "-f", path], port)


def start_caddy(servers):
    port = free_port()
    path = written(servers, "Caddyfile", CADDY.format(port=port, upstream=servers.upstream))
    return port, servers.start(
        ["env", f"HOME={servers.dir}", "GOMAXPROCS=1", "caddy", "run", "--config", path,
         "--adapter", "caddyfile"], port)


def written(servers, name, text):
    path = os.path.join(servers.dir, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def measure_peers(servers, rounds, seconds, json_file, svg_file):
    ours, nginx = servers.gateway("peers"), (servers.proxy, servers.running[1])
    haproxy, caddy = start_haproxy(servers), start_caddy(servers)
    proxies = (("nginx", nginx), ("HAProxy", haproxy), ("Caddy", caddy))

    def all_with(script):
        return [Peer("onceguard", *ours, script)] + \
            [Peer(name, *where, script) for name, where in proxies]

    send_once(ours[0])
    cached = [Peer("onceguard", *ours, "repeat.lua"),
              *(Peer(name, *where, None, "/cached") for name, where in proxies[:2])]
    first = "first requests, durable in " + {"sqlite": "SQLite", "journal": "a journal"}[
        servers.store]
    rows = []
    for title, peers, connections in (
            (first, all_with("unique.lua"), 64),
            (first, all_with("unique.lua"), 256),
            (first, all_with("unique.lua"), 1),
            ("passed through", all_with("plain.lua"), 64),
            ("repeats; caches: hits", cached, 64)):
        rows.append(measure_row(title, peers, rounds, seconds, connections))
        print(table_of(rows[-1]), flush=True)
    for path, made in ((json_file, json_of), (svg_file, svg_of)):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made(rows))
    sys.stdout.flush()
