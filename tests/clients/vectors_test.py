"""docs/protocol/vectors.json, held against a second implementation, the gateway, the decision
service and SQL: all of them find one record for one operation."""

import base64
import json
import pathlib
import socket
import subprocess

import pytest

from clients.decisions import UnixConnection
from clients.identity import body_of, of_vector
from support.gateway import clean_environment

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs/protocol/vectors.json"
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))["vectors"]
REQUESTS = [one for one in VECTORS if "request" in one]
PARTS = [one for one in VECTORS if "parts" in one]
SECRET = {"keys": [{"kty": "oct", "kid": "secret",
                    "k": base64.urlsafe_b64encode(b"k" * 64).decode().rstrip("=")}]}


class Bytes:
    """Reads a record by docs/formats.md."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        return self.take(self.varint()).decode("latin-1")


def subject_of(record):
    reader = Bytes(record)
    head = reader.take(5)
    assert head[0] == 2 and head[2] & 1
    reader.take(8 + 16)
    for _ in range(3):
        reader.varint()
    reader.take(6 * 8)
    scope = reader.take(32).hex()
    kind, key, _, _, _, made = (reader.text() for _ in range(6))
    return {"scope_kind": kind, "scope": scope, "key": key, "fingerprint_method": made,
            "fingerprint": reader.take(32).hex()}


def exported(binary, store):
    """The records of a store as `expect` has them, by their ids."""
    done = subprocess.run([str(binary), "keys", "export", "-", "--store", store],
                          capture_output=True, text=True, timeout=60, env=clean_environment(),
                          check=False)
    assert done.returncode == 0, done
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["id"]: {"id": line["id"], **subject_of(base64.b64decode(line["record"]))}
            for line in lines if "record" in line}


def compare(found, vectors):
    expected = {one["name"]: one["expect"] for one in vectors}
    names = {one["expect"]["id"]: one["name"] for one in vectors}
    assert {names.get(key, key): record for key, record in found.items()} == expected


def by_policy():
    """The requests, in groups that one configuration serves."""
    groups = {}
    for one in REQUESTS:
        groups.setdefault(json.dumps(one["policy"]), []).append(one)
    return list(groups.values())


def config_of(vectors, folder):
    policy = vectors[0]["policy"]
    config = {"defaults": policy}
    if "jwt:" in json.dumps(policy):
        (folder / "keys.json").write_text(json.dumps(SECRET))
        config["jwt"] = {"keys_file": str(folder / "keys.json")}
    return config


def head_and_body(request):
    body = body_of(request)
    lines = [f"{request['method']} {request['target']} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request["headers"]]
    lines += [f"Content-Length: {len(body)}", "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def send(address, request):
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(head_and_body(request))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 2"), answer


def test_the_vectors_are_different_records():
    assert len(VECTORS) >= 60
    assert len({one["name"] for one in VECTORS}) == len(VECTORS)
    ids = [one["expect"]["id"] for one in VECTORS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: one["name"])
def test_a_second_implementation_agrees(vector):
    assert of_vector(vector) == vector["expect"]


def test_the_gateway_keeps_them_so(start_gateway, upstream, onceguard, tmp_path):
    for vectors in by_policy():
        named = {"upstream": [{"name": "payments", "url": upstream.url}]}
        gateway = start_gateway(upstream, {**config_of(vectors, tmp_path), **named})
        for one in vectors:
            send(gateway.address, one["request"])
        gateway.stop()
        found = exported(onceguard, gateway.store_url())
        compare(found, vectors)


def as_message(one):
    """The claim, and the body behind it. Who calls the service has verified the credential."""
    request = {name: value for name, value in one["request"].items()
               if not name.startswith("body")}
    verified = {"credential_verified": True} if "replay_check" in one["policy"] else {}
    return {"request": {**request, **verified}, "service": one["service"]}, body_of(one["request"])


def test_the_decision_service_keeps_them_so(start_serve, onceguard, tmp_path):
    for vectors in by_policy():
        config = config_of(vectors, tmp_path)
        if "replay_check" in config["defaults"]:  # the gateway's alone
            config["defaults"] = {name: value for name, value in config["defaults"].items()
                                  if name != "replay_check"}
            config["gateway"] = {"trusted_proxies": ["127.0.0.1"]}
        serve = start_serve({**config, "route": [{"path": "/"}]})
        connection = UnixConnection(serve.socket)
        for one in vectors:
            got, _ = connection.claim(*as_message(one))
            assert got["verdict"] == "run", (one["name"], got)
            connection.complete(got["operation"])
        connection.close()
        serve.stop()
        compare(exported(onceguard, serve.store_url), vectors)


def test_the_decision_service_keeps_parts_so(start_serve, onceguard):
    serve = start_serve()
    connection = UnixConnection(serve.socket)
    for one in PARTS:
        got, _ = connection.claim(one["parts"])
        assert got["verdict"] == "run", (one["name"], got)
        connection.complete(got["operation"])
    connection.close()
    serve.stop()
    compare(exported(onceguard, serve.store_url), PARTS)


def test_sql_keeps_them_so(postgres_server, database, admin, onceguard):
    for one in PARTS:
        parts = one["parts"]
        with admin.transaction():
            verdict, lease = admin.execute(
                "SELECT verdict, lease FROM onceguard.claim(%s, %s, %s, scope_kind => %s)",
                [parts["scope"], parts["key"], body_of(parts, "fingerprint"),
                 parts.get("scope_kind", "application")]).fetchone()
            assert verdict == "run", one["name"]
            admin.execute("SELECT onceguard.complete(%s, 200)", [lease])
    compare(exported(onceguard, postgres_server.url(database)), PARTS)
