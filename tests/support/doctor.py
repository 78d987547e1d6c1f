"""Runs `onceguard doctor` and picks findings."""

import json
import re
import subprocess

from support.documented import DOCS
from support.gateway import clean_environment
from support.waiting import wait_until

# Of a service that is not there: nothing listens on the discard port.
NO_UPSTREAM = "http://127.0.0.1:9"


def documented_ids():
    """Those of the table in the page on operations."""
    section = (DOCS / "operations.md").read_text(encoding="utf-8").split("| id | about |\n")[1]
    rows = [line.split("|")[1] for line in section.split("\n\n")[0].splitlines()[1:]]
    return {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}


class Report:
    """What the command has found, by the ids of the findings."""

    def __init__(self, done):
        self.code = done.returncode
        assert done.stderr == "", done
        whole = json.loads(done.stdout)
        assert set(whole) == {"findings", "faults", "warnings"}
        self.findings = whole["findings"]
        for one in self.findings:
            assert list(one) == ["level", "id", "text", "remedy"], one
            assert one["level"] in ("ok", "note", "warning", "fault"), one
            assert one["id"] in documented_ids(), one
        levels = [one["level"] for one in self.findings]
        assert whole["faults"] == levels.count("fault")
        assert whole["warnings"] == levels.count("warning")
        # 4: the store is out of reach, or takes no writes.
        assert self.code in ((1, 4) if whole["faults"] else (0,))

    def all(self, name):
        return [one for one in self.findings if one["id"] == name]

    def one(self, name):
        """The finding with this id, of which there is one."""
        found = self.all(name)
        assert len(found) == 1, (name, self.findings)
        return found[0]

    def level(self, name):
        return self.one(name)["level"]


def run_doctor(onceguard, *words, **how):
    return subprocess.run([*how.pop("before", []), str(onceguard), "doctor", *map(str, words)],
                          capture_output=True, text=True, timeout=120, check=False,
                          env=clean_environment(), **how)


def examine(onceguard, *words, listen="127.0.0.1:0", **how):
    return Report(run_doctor(onceguard, "--json", "--listen", listen, *words, **how))


def certificate(folder, days):
    """The paths of a certificate that ends in so many days (0: it has ended), and of its key."""
    proof, key, request = (folder / f"{name}{days}.pem" for name in ("proof", "key", "request"))
    subprocess.run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                    "-out", request, "-subj", "/CN=localhost"], check=True, capture_output=True)
    subprocess.run(["openssl", "x509", "-req", "-in", request, "-signkey", key, "-days", str(days),
                    "-out", proof], check=True, capture_output=True)
    key.chmod(0o600)
    ended = ["openssl", "x509", "-checkend", "0", "-noout", "-in", proof]
    if days == 0:
        wait_until(lambda: subprocess.run(ended, check=False, capture_output=True).returncode,
                   what="the certificate's end")
    return proof, key
