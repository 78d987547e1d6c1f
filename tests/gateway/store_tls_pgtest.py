"""The store over TLS to PostgreSQL, with verification."""

import os
import pwd
import shutil

import pytest

from support.certificates import Authority
from support.expecting import assert_first, assert_problem, assert_replay_of
from support.postgres import Postgres


@pytest.fixture
def secured(tmp_path):
    """A server that takes connections over TLS alone, and asks for a client's certificate."""
    authority = Authority(tmp_path / "authority")
    server = Postgres({"ssl": "on", "ssl_cert_file": "'server.pem'", "ssl_key_file": "'server.key'",
                       "ssl_ca_file": "'ca.pem'"})
    certificate, key = authority.issue("database", hosts=("127.0.0.1",))
    for source, name in ((certificate, "server.pem"), (key, "server.key"),
                         (authority.file, "ca.pem")):
        shutil.copy(source, server.cluster / name)
        (server.cluster / name).chmod(0o600)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(server.cluster / name, owner.pw_uid, owner.pw_gid)
    server.start()
    database = server.create_store()
    (server.cluster / "pg_hba.conf").write_text(
        "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n")
    server.reload()
    yield server, database, authority
    server.close()


def test_keys_are_kept_over_verified_tls(start_gateway, own_upstream, secured, tmp_path, key):
    server, database, authority = secured
    certificate, private = authority.issue("gateway")
    plain = f"postgresql://postgres@127.0.0.1:{server.port.number}/{database}"
    url = (f"{plain}?sslmode=verify-full&sslrootcert={authority.file}"
           f"&sslcert={certificate}&sslkey={private}")
    gateway = start_gateway(own_upstream, {"store": {"url": url}})
    first = assert_first(gateway.post(key=key))
    assert_replay_of(gateway.post(key=key), first)
    other = Authority(tmp_path / "other")
    wrong = {
        "without TLS": f"{plain}?sslmode=disable",
        "another authority": url.replace(authority.file, other.file),
        "without a certificate": f"{plain}?sslmode=verify-full&sslrootcert={authority.file}"
                                 "&sslcert=/nowhere",
        "another name": url.replace("127.0.0.1:", "localhost:").replace(
            "sslmode", "hostaddr=127.0.0.1&sslmode")}
    for name, refused in wrong.items():
        strange = start_gateway(own_upstream, {"store": {"url": refused, "timeout": "1s"}})
        answer = strange.post(key=f"{key}-{name.replace(' ', '-')}")
        assert_problem(answer, 503, "store-unreachable", True, True)
    assert sum(own_upstream.effects().values()) == 1
