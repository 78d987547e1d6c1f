"""Fixtures of the suites that use the admin listener."""

import pytest

from support.admin import Admin
from support.names import Names


@pytest.fixture
def begin_admin(start_gateway, own_upstream):
    """Starts a gateway with an admin listener; returns both. Further words are of the table
    `gateway`; `config` has the other tables."""
    made = []

    def start(config=None, upstream=own_upstream, wait=True, **table):
        admin = Admin()
        made.append(admin)
        whole = {**(config or {}), "gateway": {"admin": admin.text, **table}}
        gateway = start_gateway(upstream, whole, started=False)
        gateway.start(wait=wait)
        return gateway, admin

    yield start
    for admin in made:
        admin.close()


@pytest.fixture
def tokens(tmp_path):
    """A file with an operator's and a viewer's token; the path and the tokens."""
    path = tmp_path / "tokens"
    path.write_text("# who may what\noperator operator-token-0001 alice\n\n"
                    "viewer viewer-token-00002\n")
    path.chmod(0o600)
    return str(path), "operator-token-0001", "viewer-token-00002"


@pytest.fixture
def names(onceguard):
    return Names(onceguard)
