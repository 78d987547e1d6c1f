"""An older copy that is written over the files of a running gateway, byte by byte."""

import pytest

from support.expecting import assert_first, assert_problem
from support.sqlite_files import OlderCopy, config


@pytest.mark.parametrize("moment", ["before the claim", "between claim and completion"])
def test_a_copy_over_the_open_file_is_noticed(start_gateway, upstream, tmp_path, fresh_key, moment):
    settings = config(tmp_path)
    settings["defaults"] = {"lease": "30s", "upstream_timeout": "30s"}
    gateway = start_gateway(upstream, settings)
    assert_first(gateway.post(key=fresh_key()))
    key = fresh_key()
    before = OlderCopy(gateway.database)
    with gateway.begin_post(key=key, plan={"gate": key}) as running:
        upstream.arrived(1, key)
        between = OlderCopy(gateway.database)
        upstream.open(key)
        assert_first(running.read())
    (before if moment == "before the claim" else between).write_over()
    # The first one finds the file changed under it, and the second one another memory.
    for _ in range(2):
        assert_problem(gateway.post(key=key), 503, "store-unreachable", True)
    assert_problem(gateway.post(key=fresh_key()), 503, "store-unreachable", True, retry_after=True)
    gateway.logged("store-file-replaced")
    assert upstream.runs(key) == 1
