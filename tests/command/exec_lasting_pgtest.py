"""What stays until a person mends it is no reason to try again: exec ends with 125 and says what it
is, at once. What passes by itself is 75."""

import os
import pwd
import shutil

import pytest

from support.certificates import Authority
from support.executing import FAILED_ITSELF, TRY_LATER
from support.ports import Port
from support.postgres import Postgres
from support.redis import Redis
from support.redis_fleet import Fleet
from support.waiting import Stopwatch

# The whole time of a store that can't be reached is 20 s here.
AT_ONCE = 10

ACCESS = """local all all trust
host all locked 127.0.0.1/32 scram-sha-256
host all barred 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
"""


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("pki") / "right")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("pki") / "other", "others")


@pytest.fixture(scope="module")
def postgres(pki):
    server = Postgres({"ssl": "on", "ssl_cert_file": "'server.pem'",
                       "ssl_key_file": "'server.key'", "password_encryption": "'scram-sha-256'"})
    certificate, private = pki.issue("database", hosts=("127.0.0.1",))
    for source, name in ((certificate, "server.pem"), (private, "server.key")):
        shutil.copy(source, server.cluster / name)
        (server.cluster / name).chmod(0o600)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(server.cluster / name, owner.pw_uid, owner.pw_gid)
    (server.cluster / "pg_hba.conf").write_text(ACCESS)
    try:
        server.start()
        with server.connect() as admin:
            for role in ("locked", "barred", "poor"):
                admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'right'")
        server.store = server.create_store()
        yield server
    finally:
        server.close()


def refused(exec_on, url, key, code=FAILED_ITSELF, environment=None):
    """What exec says on the store of the URL, where nothing may run."""
    executing, clock = exec_on(url), Stopwatch()
    done = executing.shell(key, "true", environment=environment)
    assert (done.code, done.out) == (code, b""), done
    assert b"nothing was run" in done.err and executing.runs(key) == 0
    if code == FAILED_ITSELF:
        assert clock.seconds < AT_ONCE
    return done.err.decode()


@pytest.mark.parametrize("user, database, sqlstate", [
    ("locked:wrong", None, "28P01"), ("nobody", None, "28000"), ("barred:right", None, "28000"),
    ("postgres", "nowhere", "3D000"), ("poor", None, "42501"), ("postgres", "postgres", "3F000")])
def test_what_postgresql_refuses_is_for_a_person(exec_on, postgres, key, user, database, sqlstate):
    url = postgres.url(database or postgres.store, user)
    said = refused(exec_on, url, key)
    assert f"[{sqlstate}]" in said and "wrong@" not in said
    assert "LOCATION" not in said and said.count(sqlstate) == 1


def test_a_password_that_is_missing_is_for_a_person(exec_on, postgres, key):
    assert "no password" in refused(exec_on, postgres.url(postgres.store, "locked"), key)


def test_a_certificate_of_postgresql_that_nobody_vouches_for(exec_on, postgres, pki, other, key):
    plain = postgres.url(postgres.store)
    url = f"{plain}?sslmode=verify-full&sslrootcert="
    assert exec_on(url + pki.file).shell(key, "true").code == 0
    for authority, why in ((other.file, "certificate verify failed"),
                           ("/nowhere/ca.pem", "/nowhere/ca.pem")):
        assert why in refused(exec_on, url + authority, f"{key}-{why[:3]}")


@pytest.mark.parametrize("scheme", ["postgresql", "redis", "dynamodb"])
def test_a_server_that_is_away_is_tried_again(exec_on, key, scheme):
    """Its password may be wrong as well: nobody knows."""
    port = Port()
    try:
        url = {"postgresql": f"postgresql://me:x@127.0.0.1:{port.number}/a",
               "redis": f"redis://:x@127.0.0.1:{port.number}",
               "dynamodb": f"dynamodb://us-east-1/keys?endpoint=http://127.0.0.1:{port.number}"}
        refused(exec_on, url[scheme], key, TRY_LATER,
                {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
    finally:
        port.close()


def test_what_redis_refuses_is_for_a_person(exec_on, key):
    server = Redis().start()
    try:
        server.run("ACL SETUSER poor on >right ~* +@read")
        server.run("ACL SETUSER default >right")
        for login, code in (("", "NOAUTH"), (":wrong@", "WRONGPASS"),
                            ("nobody:right@", "WRONGPASS"), ("poor:right@", "NOPERM")):
            url = f"redis://{login}127.0.0.1:{server.port.number}"
            said = refused(exec_on, url, f"{key}-{code}{len(login)}")
            assert code in said and "wrong@" not in said
    finally:
        server.crash()
        server.close()


class SecureRedis(Fleet):
    """A single server over TLS."""

    def start(self):
        self.servers.append(Redis(self.tls_settings()).start())
        return self


def test_a_certificate_of_redis_that_nobody_vouches_for(exec_on, pki, other, key):
    certificate, private = pki.issue("redis", hosts=("127.0.0.1",))
    fleet = SecureRedis((pki.file, certificate, private))
    try:
        fleet.start()
        url = (f"rediss://127.0.0.1:{fleet.tls_ports[0].number}?cert={certificate}&key={private}"
               "&ca=")
        assert exec_on(url + pki.file).shell(key, "true").code == 0
        assert "certificate verify failed" in refused(exec_on, url + other.file, f"{key}-other")
    finally:
        fleet.close()


@pytest.mark.parametrize("name, secret, why", [
    ("AKIDEXAMPLE", "wrong", "Signature"), ("NOBODY", "wrong", "credentials"),
    (None, None, "no credentials")])
def test_what_dynamodb_refuses_is_for_a_person(exec_on, dynamodb_server, key, name, secret, why):
    url = dynamodb_server.create_store()
    login = {"AWS_ACCESS_KEY_ID": name or "", "AWS_SECRET_ACCESS_KEY": secret or "",
             "AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    assert why in refused(exec_on, url, key, environment=login)


def test_a_table_of_dynamodb_that_is_missing_is_for_a_person(exec_on, dynamodb_server, key):
    url = dynamodb_server.url(dynamodb_server.new_table())
    assert "onceguard migrate" in refused(exec_on, url, key)
