"""The load and what is read from it: wrk, its results, and the processor time of processes."""

import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def send_once(port):
    """The first request of the key that repeat.lua repeats."""
    body = b'{"amount":500,"currency":"eur","card":"tok_visa","description":"' + b"x" * 135 + b'"}'
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"POST /charges HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
                       b"Content-Type: application/json\r\nAuthorization: Bearer bench\r\n"
                       b'Idempotency-Key: "bench-repeat"\r\nContent-Length: %d\r\n\r\n'
                       % (port, len(body)) + body)
        while client.recv(4096):
            pass


class Result:
    def __init__(self, text):
        self.rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
        self.p50 = latency(text, "50%")
        self.p99 = latency(text, "99%")
        self.bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        self.errors = re.search(r"Socket errors: (.*)", text)
        if self.bad or self.errors:
            raise SystemExit("the load met errors:\n" + text)


def latency(text, which):
    number, unit = re.search(re.escape(which) + r"\s+([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def wrk(port, script, seconds, connections=64, path="/charges", scheme="http"):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
    if script:
        command += ["-s", os.path.join(HERE, "load", script)]
    command.append(f"{scheme}://127.0.0.1:{port}{path}")
    # A run's number makes its keys unique over all runs.
    env = dict(os.environ, BENCH_RUN=str(time.monotonic_ns()))
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit("wrk failed:\n" + done.stdout + done.stderr)
    return Result(done.stdout)


def latencies(title, port, script, seconds, path="/charges"):
    for connections in (1, 64):
        r = wrk(port, script, seconds, connections, path)
        print(f"{title:<34} {connections:>4} connections   "
              f"p50 {r.p50:8.3f} ms   p99 {r.p99:8.3f} ms")
    sys.stdout.flush()


def resident_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def cpu_seconds(process):
    """User and system time of a process and of its children, as far as they still run."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        all_of_them = [process.pid, *map(int, file.read().split())]
    times = []
    for pid in all_of_them:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        times.append([int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:13]])
    return [sum(kind) for kind in zip(*times)]
