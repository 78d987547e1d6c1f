"""The rules of docs/monitoring over the series of a real gateway, before a fault and in it."""

import pathlib
import re
import subprocess

from support.samples import scrape
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "docs/monitoring/alerts.yml"
STEP = 15  # seconds between two scrapes
QUIET, LATER = 40, 480  # scrapes: ten minutes, two hours
GROWING = ("_total", "_bucket", "_count", "_sum")


def expression(alert):
    return re.search(rf"- alert: {alert}\n(.*?)labels:", RULES.read_text(), re.S)[1]


def number(value):
    return f"{value:.6f}"


def series_of(alert, before, after, lasts, now):
    """The samples that the rule looks at: as before, then as after, then as before again."""
    names = set(re.findall(r"\b(?:onceguard_\w+|up)\b", expression(alert)))
    for (name, labels), last in sorted(after.items()):
        if name not in names:
            continue
        first = before.get((name, labels))
        if name.endswith("_timestamp_seconds"):  # the tool's clock begins at 0
            last, first = last - now, None if first is None else first - now
        grows = name.endswith(GROWING)
        begin = f"_x{QUIET}" if first is None else f"{number(first)}x{QUIET}"
        step = last - (first or 0) if grows else 0
        if name == "onceguard_oldest_unknown_seconds":
            step = STEP
        values = f"{begin} {number(last)}+{number(max(step, 0))}x{lasts}"
        if lasts < LATER and first is not None and not grows:
            values += f" {number(first)}x{LATER - lasts}"
        text = ",".join(f'{key}="{value}"' for key, value in
                        [("instance", "a"), ("job", "onceguard"), *labels])
        yield f"      - series: '{name}{{{text}}}'\n        values: '{values}'\n"


def assert_fires(alert, before, after, folder, lasts=LATER, now=0):
    """Not while all is as before, and at some time after it."""
    fired = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    whole = "".join(series_of(alert, before, after, lasts, now))
    assert whole, f"no series for {alert}"
    (folder / "case.yml").write_text(f"""
rule_files: [{RULES}]
evaluation_interval: {STEP}s
tests:
  - interval: {STEP}s
    input_series:
{whole}
    promql_expr_test:
      - expr: 'count({fired}) or vector(0)'
        eval_time: {(QUIET - 1) * STEP}s
        exp_samples: [{{labels: '{{}}', value: 0}}]
      - expr: 'count(count_over_time({fired}[3h])) > bool 0'
        eval_time: {(QUIET + LATER) * STEP}s
        exp_samples: [{{labels: '{{}}', value: 1}}]
""")
    done = subprocess.run(["promtool", "test", "rules", "case.yml"], cwd=folder, text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, f"{done.stderr}{done.stdout}{whole}"


def wait_for(admin, name, value, **labels):
    wait_until(lambda: scrape(admin).value(name, **labels) == value, 30, f"{name} being {value}")
    return scrape(admin)
