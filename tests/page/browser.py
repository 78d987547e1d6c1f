"""The browser of a suite, in which scenarios.mjs acts out one scenario after another."""

import contextlib
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent


class Browser:
    """It starts with the first scenario. Each one has cookies, a cache and connections of its own,
    and after one that failed the next has a new browser."""

    def __init__(self):
        self.process = None
        self.idle = True
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")

    def begin(self, name, facts):
        """The words of the scenario as they come: read them to its end. Fails where it does."""
        if not self.idle:
            self.close()
        if self.process is None:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "node", HERE / "scenarios.mjs"], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.idle = False
        with contextlib.suppress(BrokenPipeError):  # words() says what it ended with
            self.process.stdin.write(json.dumps({"name": name, "facts": facts}) + "\n")
            self.process.stdin.flush()
        return self.words(name)

    def words(self, name):
        for line in self.process.stdout:
            word = json.loads(line)
            if "said" in word:
                yield word["said"]
            elif word["failure"] is None:
                self.idle = True
                return
            else:
                raise AssertionError(f"{name}: {word['failure']}")
        self.log.seek(0)
        raise AssertionError(f"{name}: the browser ended: {self.log.read()[-8000:]}")

    def act(self, name, facts):
        """All words of the scenario."""
        return list(self.begin(name, facts))

    def close(self):
        """It ends with its input, unless it is amid a scenario."""
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            if not self.idle:
                self.process.terminate()  # the browser's files go with it
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        self.process, self.idle = None, True
