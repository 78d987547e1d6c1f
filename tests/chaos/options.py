"""The least and the greatest value of each option, as `onceguard check --reference` lists them."""

import re
import subprocess

BETWEEN = re.compile(r"A (duration|size|whole number|status) from (\S+) to (\S+?)[;,]")
# What these promise ends there: a record that is forgotten after a second may run again.
PROMISED = {"retention", "unknown_retention", "max_retention"}
# At these ends nothing gets through at all, or not in the time that a run has.
STARVING = {("connect_timeout", "low"), ("timeout", "low"), ("max_connections", "low"),
            ("max_request_body", "low"), ("max_header_bytes", "low"), ("max_header_count", "low"),
            ("lease", "high"), ("upstream_timeout", "high"), ("settle_wait", "high"),
            ("max_buffered", "low"), ("drain_delay", "high"), ("drain", "high"),
            ("wait", "high"), ("backoff", "high"), ("min_client_rate", "high"),
            ("header_timeout", "low"), ("body_timeout", "low"), ("threads", "high"),
            ("max_connections", "high"), ("mismatch_status", "low"), ("busy_status", "low"),
            ("mismatch_status", "high"), ("busy_status", "high"), ("connections", "high"),
            ("probe_present", "low"), ("probe_present", "high"), ("max_hops", "low"),
            ("probe_absent", "low"), ("probe_absent", "high"), ("leeway", "high")}
TABLES = ("gateway", "store", "defaults")


def read_reference(binary):
    """Of each numeric option of those tables: (table, name, kind, least, greatest)."""
    text = subprocess.run([str(binary), "check", "--reference"], capture_output=True, text=True,
                          check=True, timeout=30).stdout
    table, name, found = "", "", []
    for line in text.splitlines():
        if match := re.match(r"## `\[(\w+)\]`", line):
            table = match[1]
        elif match := re.match(r"### `(\w+)`", line):
            name = match[1]
        elif (match := BETWEEN.match(line)) and table in TABLES and name not in PROMISED:
            found.append((table, name, match[1], match[2], match[3]))
    assert len(found) > 20, "the reference has another form"
    return found


def extremes_of(reference, rng):
    """One to four options, each at its least or greatest."""
    drawn = []
    for table, name, kind, least, greatest in rng.sample(reference, rng.choice((1, 2, 4))):
        end = rng.choice([end for end in ("low", "high") if (name, end) not in STARVING] or [""])
        if end:
            value = least if end == "low" else greatest
            drawn.append((table, name, int(value) if kind == "whole number" else value))
    return drawn
