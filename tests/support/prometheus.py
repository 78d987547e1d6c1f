"""Debian's Prometheus on a free port: with series of days that a test makes, with what it scrapes,
or both."""

import json
import subprocess
import time
import urllib.parse
import urllib.request

from support.ports import Port
from support.waiting import wait_until

STEP = 60  # seconds between two samples of the series that a test makes
AHEAD = 1800  # seconds: they grow on while a test that waits for processors looks at them


def counter_text(name, series, seconds, now):
    """OpenMetrics of counters that grow evenly: `series` has (labels, per second)."""
    yield f"# TYPE {name} counter\n"
    for labels, rate in series:
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        for at in range(now - seconds, now + AHEAD, STEP):
            yield f"{name}_total{{{text}}} {rate * (at - now + seconds):.3f} {at}\n"


def histogram_text(name, labels, buckets, seconds, now):
    """The same of a histogram: `buckets` has the bounds with how many a second they take."""
    yield f"# TYPE {name} histogram\n"
    text = ",".join(f'{key}="{value}"' for key, value in labels.items())
    for at in range(now - seconds, now + AHEAD, STEP):
        grown = at - now + seconds
        for bound, rate in buckets:
            yield f'{name}_bucket{{{text},le="{bound}"}} {rate * grown:.3f} {at}\n'
        yield f"{name}_count{{{text}}} {buckets[-1][1] * grown:.3f} {at}\n"


class Prometheus:
    def __init__(self, folder, kept=(), targets=()):
        """`kept`: lines of OpenMetrics, of which it has the series already."""
        self.folder = folder
        self.port = Port()
        self.url = f"http://127.0.0.1:{self.port.number}"
        folder.mkdir(exist_ok=True)
        kept = "".join(kept)
        if kept:
            (folder / "kept.txt").write_text(kept + "# EOF\n")
            subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q",
                            folder / "kept.txt", folder / "data"], check=True, timeout=400,
                           capture_output=True)
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "onceguard",
                                "static_configs": [{"targets": list(targets)}]}]}))
        self.process = None

    def start(self):
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "prometheus",
                 f"--config.file={self.folder}/prometheus.yml",
                 f"--storage.tsdb.path={self.folder}/data", "--storage.tsdb.retention.time=90d",
                 f"--web.listen-address=127.0.0.1:{self.port.number}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.is_ready, 60, "Prometheus")
        return self

    def is_ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def ask(self, expression):
        """The values of an instant query."""
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{query}", timeout=10) as answer:
            return [float(one["value"][1]) for one in json.load(answer)["data"]["result"]]

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.port.close()


def two_days(job="onceguard"):
    """Of two days: two runs a second, half a replay; half of all within 10 ms, all within 50."""
    now, seconds = int(time.time()), 2 * 24 * 3600
    labels = {"job": job, "instance": "a", "route": "/"}
    yield from counter_text("onceguard_requests", [({**labels, "outcome": "ran"}, 2.0),
                                                   ({**labels, "outcome": "replayed"}, 0.5)],
                            seconds, now)
    for step in ("request", "claim", "settle"):
        yield from histogram_text(f"onceguard_{step}_seconds", labels,
                                  [("0.01", 1.25), ("0.05", 2.5), ("+Inf", 2.5)], seconds, now)
