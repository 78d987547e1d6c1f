"""`onceguard keys index`: an index by key in a SQLite file, beside a gateway that goes on."""

import subprocess

import pytest

from support.expecting import assert_first, assert_replay_of
from support.gateway import clean_environment


def test_a_gateway_goes_on_while_the_index_comes_and_goes(gateway, fresh_key):
    keys = [fresh_key() for _ in range(6)]
    for number, (key, flags) in enumerate(zip(keys, ([], [], ["--drop"], ["--drop"], [], []))):
        first = gateway.post(key=key)
        assert_first(first)
        done = gateway.command("keys", "index", *flags)
        said = "there is no index by key\n" if flags else "there is an index by key\n"
        assert (done.returncode, done.stdout) == (0, said), done
        assert_replay_of(gateway.post(key=key), first)
        for one in keys[:number + 1]:
            assert [found["key"] for found in gateway.keys("--key", one)] == [one]
        assert gateway.keys("--key", "nobody") == []
        assert gateway.command("keys", "show", key).returncode == 0


@pytest.mark.parametrize("url, code, said", [
    ("sqlite:none.db", 4, "there is no such file"),
    ("redis://127.0.0.1:1", 2, "may have an index by key"),
    ("postgresql://127.0.0.1:1/none", 4, "127.0.0.1"),
])
def test_a_store_without_it_is_refused(onceguard, tmp_path, url, code, said):
    done = subprocess.run([onceguard, "keys", "index", "--store", url], cwd=tmp_path, check=False,
                          capture_output=True, text=True, env=clean_environment())
    assert done.returncode == code and said in done.stderr, done
    assert list(tmp_path.iterdir()) == []
