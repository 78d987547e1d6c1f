"""Runs the conformance kit against a server."""

import json
import subprocess


class Kit:
    """`onceguard conformance` against one target."""

    def __init__(self, onceguard, url):
        self.command = [str(onceguard), "conformance", "--target", url]

    def run(self, *arguments):
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True,
                              timeout=300, check=False)

    def report(self, *arguments):
        """The JSON report."""
        done = self.run("--json", *arguments)
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        return json.loads(done.stdout)

    def failed(self, *arguments):
        """What differed, by the names of the cases."""
        return {case["name"]: case["differences"] for case in self.report(*arguments)["cases"]
                if not case["passed"]}
