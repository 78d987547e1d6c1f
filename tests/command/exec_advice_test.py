"""What a call that ran nothing says to a person: whether a later call can help, and which commands
mend what is unknown."""

import resource
import subprocess

import pytest

from support.executing import FAILED_ITSELF, NOT_RECORDED, TRY_LATER, UNKNOWN
from support.ports import Port
from support.shell import in_shell
from support.waiting import wait_until


@pytest.mark.parametrize("name", ["nightly", "it's", "-x", "a b;c", "$(x)", "pay\x01'\x7f"])
@pytest.mark.parametrize("scope", ["", "team"])
def test_the_two_commands_that_mend_it_are_named(exec_, name, scope):
    words = ["sh", "-c", "[ -e ok ] && echo ran || kill -9 $$"]

    def call(scope=scope):
        options = ["--every", "1h"] + (["--scope", scope] if scope else [])
        named = [f"--key={name}" if word == name else word
                 for word in exec_.words(name, *words, options=options) if word != "--key"]
        done = subprocess.run(named, cwd=exec_.folder, env=exec_.environment(),
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    assert call("of-others")[0] == 137, "the name alone says too little"
    assert exec_.shell("pay?'?", "kill -9 $$").code == 137, "another key"
    assert call()[0] == 137
    code, out, err = call()
    assert (code, out) == (UNKNOWN, ""), err
    lines = dict(line.split(":  ", 1) for line in err.splitlines() if ":  " in line)
    assert set(lines) == {"it did take effect", "it did not"}
    released = in_shell(exec_, lines["it did not"])
    assert (released.returncode, released.stdout.split(":")[0]) == (0, "released"), released
    assert call("of-others")[0] == UNKNOWN
    (exec_.folder / "ok").touch()
    assert call()[:2] == (0, "ran\n")


def test_what_did_take_effect_is_completed_by_the_line(exec_, key):
    assert exec_.shell(key, "kill -9 $$").code == 137
    err = exec_.shell(key, "kill -9 $$").err.decode()
    [line] = [each for each in err.splitlines() if each.startswith("it did take effect:")]
    done = in_shell(exec_, line.split(":", 1)[1])
    assert (done.returncode, done.stdout) == (0, "completed\n"), done
    assert exec_.shell(key, "kill -9 $$").code == 0
    assert exec_.runs(key) == 1


def test_a_password_of_the_store_is_not_repeated(exec_on, redis_server, key):
    url = redis_server.create_store()
    executing = exec_on(url.replace("redis://", "redis://:secret@"))
    assert b"secret" not in executing.shell(key, "kill -9 $$").err
    executing = exec_on(url)
    executing.shell(key, "kill -9 $$")
    err = executing.shell(key, "kill -9 $$").err.decode()
    assert f"--store {url}" in err or f"--store '{url}'" in err, err


def test_a_hidden_password_is_to_be_given_again(exec_on, postgres_server, key):
    url = postgres_server.url(postgres_server.create_store())
    executing = exec_on(f"{url}{'&' if '?' in url else '?'}password=not-shown")
    executing.shell(key, "kill -9 $$")
    err = executing.shell(key, "kill -9 $$").err.decode()
    assert "keys release" in err and "not-shown" not in err
    assert "The password is hidden here: give the store as you gave it" in err


@pytest.mark.parametrize("way", ["--store-file", "ONCEGUARD_STORE_FILE", "--config",
                                 "ONCEGUARD_CONFIG"])
def test_a_file_with_the_password_is_named_in_its_place(exec_on, postgres_server, key, way):
    url = postgres_server.url(postgres_server.create_store())
    secret = f"{url}{'&' if '?' in url else '?'}password=not-shown"
    executing = exec_on(url)
    file = executing.folder / "the store"
    file.write_text(secret if "STORE" in way.upper() else f'[store]\nurl = "{secret}"\n')
    file.chmod(0o600)
    words = executing.words(key, "sh", "-c", 'echo "$0" >>"$EFFECTS"; kill -9 $$', key)
    at = words.index("--store")
    words[at:at + 2] = [way, file.name] if way.startswith("-") else []
    more = {} if way.startswith("-") else {way: file.name}

    def call():
        return subprocess.run(words, cwd=executing.folder, env=executing.environment(**more),
                              capture_output=True, text=True, timeout=60, check=False)

    assert call().returncode == 137
    unknown = call()
    assert unknown.returncode == UNKNOWN and "not-shown" not in unknown.stderr
    assert "hidden" not in unknown.stderr
    [line] = [each for each in unknown.stderr.splitlines() if each.startswith("it did not:")]
    released = in_shell(executing, line.split(":", 1)[1])
    assert (released.returncode, released.stdout.split(":")[0]) == (0, "released"), released
    assert executing.runs(key) == 1


def test_a_file_that_a_variable_overrides_is_not_named(exec_on, postgres_server, key):
    url = postgres_server.url(postgres_server.create_store())
    executing = exec_on(url)
    (executing.folder / "other.toml").write_text('[store]\nurl = "memory:"\n')
    words = executing.words(key, "sh", "-c", "kill -9 $$")
    at = words.index("--store")
    words[at:at + 2] = ["--config", "other.toml"]
    more = {"ONCEGUARD_STORE": f"{url}{'&' if '?' in url else '?'}password=not-shown"}
    for _ in range(2):
        done = subprocess.run(words, cwd=executing.folder, env=executing.environment(**more),
                              capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == UNKNOWN and "not-shown" not in done.stderr
    assert "other.toml" not in done.stderr and "The password is hidden here" in done.stderr


def no_folder(folder):
    return f"sqlite:{folder}/none/keys.db"


def no_database(folder):
    (folder / "text").write_text("no database\n" * 100)
    return f"sqlite:{folder}/text"


def a_folder(folder):
    return f"sqlite:{folder}"


@pytest.mark.parametrize("fault", [no_folder, no_database, a_folder])
def test_what_a_person_has_to_mend_does_not_say_try_again(exec_on, tmp_path, key, fault):
    executing = exec_on(fault(tmp_path))
    done = executing.shell(key, "true")
    assert (done.code, done.out, executing.runs(key)) == (FAILED_ITSELF, b"", 0), done
    assert b"nothing was run" in done.err


@pytest.mark.parametrize("scheme", ["redis", "postgresql"])
def test_a_store_that_is_away_says_try_again(exec_on, key, scheme):
    port = Port()
    executing = exec_on(f"{scheme}://127.0.0.1:{port.number}/0")
    done = executing.shell(key, "true", options=["--store-timeout", "300ms"])
    port.close()
    assert (done.code, executing.runs(key)) == (TRY_LATER, 0), done


@pytest.mark.parametrize("script", ["sleep 300", "trap 'exit 0' TERM; sleep 300 & wait"])
def test_a_lost_lease_has_its_own_code_whatever_the_command_ends_with(exec_, key, script):
    process = exec_.begin_shell(key, script, options=["--lease", "3s", "--grace", "2s"])
    exec_.ran(1, key)
    exec_.release_running(key)
    done = exec_.end(process)
    assert done.code == NOT_RECORDED and b"the lease was lost" in done.err, done
    assert exec_.runs(key) == 1


def test_what_the_store_did_not_record_is_said_in_the_words_of_commands(exec_, key):
    """Its files may not grow: the claim has room, the output has none."""
    assert exec_.shell("another", "true").code == 0
    limit = (200_000, 200_000)
    process = exec_.begin_shell(key, "head -c 250000 /dev/zero", options=["--lease", "5s"],
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    done = exec_.end(process)
    early, first, *_, did, did_not = done.err.decode().splitlines()
    assert "can't be told how the command ended (" in early and "trying for 20s" in early
    assert done.code == NOT_RECORDED and "the command ran" in first, done
    assert b"request" not in done.err and did_not.startswith("it did not:"), done
    wait_until(lambda: exec_.state(key) == "unknown", what="the end of the lease")
    assert in_shell(exec_, did.partition(":")[2]).returncode == 0
    assert exec_.shell(key, "head -c 250000 /dev/zero").code == 0
    assert exec_.runs(key) == 1
