"""`onceguard doctor` on what is open to others, full, or shown to whoever reads its lines."""

import subprocess

import pytest

from support.doctor import examine, run_doctor
from support.fixed_answer import fixed_answer


@pytest.fixture
def url(tmp_path):
    return f"sqlite:{tmp_path / 'keys.db'}"


@pytest.mark.parametrize("size, level", [("400m", "ok"), ("100m", "warning")])
def test_the_room_of_the_logs(onceguard, url, tmp_path, size, level):
    folder = tmp_path / "log"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        report = examine(onceguard, "--store", url, "--log-file", folder / "gateway.log",
                         "--audit-log", folder / "audit.log")
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
    for name in ("log-file-room", "audit-log-room"):
        assert report.level(name) == level, report.findings
        assert f"of {size[:-1]}MiB are free" in report.one(name)["text"]


@pytest.mark.parametrize("mode, who", [(0o600, None), (0o660, "the users of its group"),
                                       (0o666, "every user")])
def test_who_may_act_at_a_socket_without_tokens(start_gateway, onceguard, own_upstream, tmp_path,
                                                mode, who):
    gateway = start_gateway(own_upstream, {"gateway": {"admin": f"unix:{tmp_path}/admin.sock"}})
    (tmp_path / "admin.sock").chmod(mode)

    def rights(*words):
        return examine(onceguard, "--store", gateway.store_url(), "--admin",
                       f"unix:{tmp_path}/admin.sock", *words).all("admin-rights")
    found = rights()
    assert [one["level"] for one in found] == ([] if who is None else ["warning"])
    assert who is None or f"{who} of this machine may connect" in found[0]["text"]
    tokens = tmp_path / "tokens"
    tokens.write_text(f"operator {'t' * 40}\n")
    tokens.chmod(0o600)
    assert rights("--admin-token-file", tokens) == []


def test_a_server_s_name_turns_no_text_round(onceguard, url):
    """U+202E shows what follows from right to left."""
    with fixed_answer("", "\u202egnp.exe") as address:
        done = run_doctor(onceguard, "--store", url, "--upstream", f"http://{address}")
    assert "names its server: ?gnp.exe" in done.stdout, done
    assert "\u202e" not in done.stdout


@pytest.mark.parametrize("given", ["http://me:PASS-word@127.0.0.1:9", "me:PASS-word@127.0.0.1",
                                   "http://me:PASS@word@127.0.0.1", "ftp://me:PASS-word@x"])
def test_a_refused_upstream_keeps_its_password(onceguard, given):
    done = run_doctor(onceguard, "--upstream", given)
    assert done.returncode == 3
    assert "***@" in done.stderr and "PASS" not in done.stderr + done.stdout, done.stderr
