"""Fixtures of the suites that look at the web page."""

import json
import pathlib
import subprocess

import pytest

from support.admin import Admin

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def begin_page(start_gateway, own_upstream, tmp_path):
    """Starts a gateway with the page; what a scenario is given. `tokens`: somebody signs in."""
    listeners = []

    def start(tokens=True, **config):
        admin = Admin()
        listeners.append(admin)
        table = {"admin": admin.text, "metrics_records_interval": "1s"}
        facts = {"url": f"http://{admin.text}"}
        if tokens:
            path = tmp_path / "tokens"
            path.write_text("operator operator-token-0001 alice\nviewer viewer-token-00002 bob\n")
            path.chmod(0o600)
            table["admin_token_file"] = str(path)
            admin.token = "operator-token-0001"
            facts |= {"operator": "operator-token-0001", "viewer": "viewer-token-00002"}
        whole = {**config, "gateway": {**table, **config.get("gateway", {})}}
        gateway = start_gateway(own_upstream, whole, started=False)
        gateway.start()
        return gateway, admin, facts

    yield start
    for admin in listeners:
        admin.close()


@pytest.fixture
def act_out():
    """Acts a scenario out in a browser; fails where it does."""
    def run(name, facts):
        done = subprocess.run(["node", HERE / "scenarios.mjs", name], input=json.dumps(facts),
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return run
