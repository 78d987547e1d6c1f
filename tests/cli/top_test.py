"""`onceguard top`: what the page shows first, in a terminal."""

import os
import pty
import subprocess

import pytest

from support.admin import Admin
from support.gateway import clean_environment
from support.waiting import wait_until


@pytest.fixture
def watched(start_gateway, upstream, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("viewer viewer-token-00002\n")
    path.chmod(0o600)
    admin = Admin("viewer-token-00002")
    table = {"admin": admin.text, "admin_token_file": str(path), "metrics_records_interval": "1s"}
    yield start_gateway(upstream, {"gateway": table}), admin
    admin.close()


def top(onceguard, admin, *words, **how):
    return subprocess.run([onceguard, "top", "--admin", admin.text, *words], capture_output=True,
                          text=True, timeout=60, check=False, env=clean_environment(), **how)


def counted(admin):
    return admin.get("/api/overview").json()["records"].get("by_state", {})


def test_once(onceguard, watched, fresh_key, tmp_path):
    gateway, admin = watched
    key = fresh_key()
    for _ in range(3):
        assert gateway.post(key=key).status == 201
    token = tmp_path / "token"
    token.write_text(admin.token)
    wait_until(lambda: counted(admin).get("completed") == 1, what="a count")
    wait_until(lambda: admin.get("/api/overview").json()["totals"].get("replayed") == 2,
               what="the last request noted")
    shown = top(onceguard, admin, "--token-file", token, "--once")
    assert shown.returncode == 0, shown.stderr
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["ready"] in lines and ["ran", "1"] in lines and ["replayed", "2"] in lines
    assert ["completed", "1"] in lines
    assert "\x1b" not in shown.stdout


def test_without_its_token(onceguard, watched):
    _, admin = watched
    refused = top(onceguard, admin, "--once")
    assert refused.returncode == 4 and "A token is needed" in refused.stderr


def test_nobody_there(onceguard, watched):
    gateway, admin = watched
    gateway.stop()
    refused = top(onceguard, admin, "--once")
    assert refused.returncode != 0 and admin.text in refused.stderr


def rates(text):
    """Runs a second, of each page that is whole and follows another."""
    pages = text.split(b"\x1b[H\x1b[J")[2:-1]
    return [float(page.split(b"ran")[1].split()[1]) for page in pages]


def test_at_a_terminal_rates_are_shown_again_and_again(onceguard, watched, fresh_key, tmp_path):
    gateway, admin = watched
    token = tmp_path / "token"
    token.write_text(admin.token)
    assert gateway.post(key=fresh_key()).status == 201
    leader, follower = pty.openpty()
    with subprocess.Popen([onceguard, "top", "--admin", admin.text, "--token-file", token],
                          stdout=follower, env=clean_environment()) as shown:
        os.close(follower)
        text = b""
        while len(rates(text)) < 5 and not any(rates(text)):
            text += os.read(leader, 4096)
            gateway.post(key=fresh_key())
        shown.terminate()
    os.close(leader)
    assert any(rates(text)), text
