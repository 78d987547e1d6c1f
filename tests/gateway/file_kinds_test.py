"""Files that became pipes: nobody waits for a writer, and a signal still ends the gateway."""

import contextlib
import json
import os
import subprocess

import pytest

from support.waiting import wait_until

KEYS = {"keys": [{"kty": "oct", "kid": "a", "alg": "HS256", "k": "a" * 43}]}


def make_pipe(path):
    """Replaces the file, as whoever renews it does."""
    new = f"{path}.new"
    os.mkfifo(new)
    os.replace(new, path)


@pytest.fixture
def files(tmp_path, authority):
    certificate, key = authority.issue("piped")
    for name, text in {"jwks": json.dumps(KEYS), "secret": "a secret\n",
                       "tokens": "operator " + "t" * 32 + "\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return {"jwks": str(tmp_path / "jwks"), "secret": str(tmp_path / "secret"),
            "tokens": str(tmp_path / "tokens"), "certificate": certificate, "key": key,
            "authority": authority.file}


def config_of(files):
    return {"gateway": {"tls_certificate": files["certificate"], "tls_key": files["key"],
                        "tls_client_ca": files["authority"], "tls_client": "ask",
                        "admin": "127.0.0.1:0", "admin_token_file": files["tokens"]},
            "jwt": {"keys_file": files["jwks"], "issuer": "https://login.example"},
            "route": [{"path": "/jwt", "scope": "jwt:sub"},
                      {"path": "/hooks", "webhook": "github",
                       "webhook_secret_file": files["secret"]}]}


@pytest.mark.parametrize("name", ["jwks", "certificate", "key"])
def test_a_watched_file_that_becomes_a_pipe_is_refused_and_a_signal_ends_it(
        start_gateway, own_upstream, files, name):
    gateway = start_gateway(own_upstream, config_of(files), started=False).start()
    make_pipe(files[name])
    gateway.says("is no regular file")
    gateway.logged("file-refused")
    assert gateway.stop() == 0


@pytest.mark.parametrize("name", ["jwks", "certificate", "key", "authority", "secret"])
def test_a_pipe_is_refused_at_the_start(start_gateway, own_upstream, files, name, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    gateway = start_gateway(own_upstream, config_of({**files, name: str(pipe)}), started=False)
    done = gateway.command("check", "--config", str(gateway.config_path))
    assert done.returncode == 3 and "is no regular file" in done.stderr, done


def test_tokens_in_a_pipe_are_refused_at_the_start(start_gateway, own_upstream, files, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    config = config_of({**files, "tokens": str(pipe)})
    gateway = start_gateway(own_upstream, config, started=False).start(wait=False)
    assert gateway.wait() != 0
    gateway.says("is no regular file")


def opened_for_writing(pipe):
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None  # nobody reads it yet


def checked_by_a_shell(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60,
                          check=False)


def in_time(run, code, says=""):
    """A writer is waited for, for two seconds, and a busy machine may be later."""
    for _ in range(5):
        done = run()
        if "nobody writes to it" not in done.stderr:
            break
    assert done.returncode == code and says in done.stderr, done


def test_a_pipe_without_a_writer_holds_no_configuration_and_one_with_a_writer_does(
        start_gateway, own_upstream, tmp_path):
    gateway = start_gateway(own_upstream, started=False)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command in ("check", "doctor"):
        done = gateway.command(command, "--config", str(pipe))
        assert done.returncode == 3, done
        assert f"{pipe}" in done.stderr and "nobody writes to it" in done.stderr
    in_time(lambda: checked_by_a_shell(f"{gateway.binary} check --config <(true)"), 3,
            "gives nothing")

    def written_later():
        with subprocess.Popen([gateway.binary, "check", "--config", str(pipe)], text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as waiting:
            writer = wait_until(lambda: opened_for_writing(pipe) or waiting.poll() is not None,
                                what="the reader of the pipe")
            if writer is not True:
                with contextlib.suppress(BrokenPipeError):  # it has given up meanwhile
                    os.write(writer, gateway.config_path.read_bytes())
                os.close(writer)
            said = waiting.communicate(timeout=60)[1]
        return subprocess.CompletedProcess(waiting.args, waiting.returncode, None, said)
    in_time(written_later, 0)  # a writer may come later than the reader
    # As a shell's <(command) does.
    in_time(lambda: checked_by_a_shell(
        f"{gateway.binary} check --config <(cat {gateway.config_path})"), 0)
