"""A NATS server of the tests' own with JetStream, its nkeys and JWTs, and a client for set-up."""

import base64
import hashlib
import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from support.ports import Port
from support.waiting import wait_until

PREFIXES = {"operator": 14, "account": 0, "user": 20}


def _crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def _base32(data):
    data += _crc16(data).to_bytes(2, "little")
    return base64.b32encode(data).decode().rstrip("=")


def _base64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Nkey:
    """A key of an operator, an account or a user, as nats-server knows it by its public part."""

    def __init__(self, kind):
        self._key = ed25519.Ed25519PrivateKey.generate()
        raw = serialization.Encoding.Raw
        seed = self._key.private_bytes(raw, serialization.PrivateFormat.Raw,
                                       serialization.NoEncryption())
        public = self._key.public_key().public_bytes(raw, serialization.PublicFormat.Raw)
        prefix = PREFIXES[kind] << 3
        self.public = _base32(bytes([prefix]) + public)
        self.seed = _base32(bytes([18 << 3 | prefix >> 5, (prefix & 31) << 3]) + seed)

    def sign(self, data):
        return _base64(self._key.sign(data))

    def grant(self, subject, name, claims):
        """A JWT about `subject`, signed by this key."""
        body = {"iat": 1_700_000_000, "iss": self.public, "sub": subject, "name": name,
                "nats": {"version": 2, **claims}}
        body["jti"] = base64.b32encode(
            hashlib.new("sha512_256", json.dumps(body).encode()).digest()).decode().rstrip("=")
        head = {"typ": "JWT", "alg": "ed25519-nkey"}
        text = ".".join(_base64(json.dumps(part).encode()) for part in (head, body))
        return text + "." + self.sign(text.encode())


def credentials(token, key):
    return (f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n")


class Nats:
    """`settings`: lines of its configuration."""

    def __init__(self, settings):
        self.port = Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-nats-"))
        (self.folder / "settings").write_text(
            f'listen: "127.0.0.1:{self.port.number}"\n'
            f'jetstream: {{store_dir: "{self.folder / "streams"}"}}\n{settings}\n')
        self.process = None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "/usr/sbin/nats-server", "-c",
                 str(self.folder / "settings")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers, 30, "the server answering")
        return self

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            with socket.create_connection(("127.0.0.1", self.port.number), timeout=5) as line:
                return line.recv(4) == b"INFO"
        except OSError:
            return False

    def close(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(30)
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Client:
    """A connection over TLS."""

    def __init__(self, server, ca, key=None, token=None, certificate=None):
        line = socket.create_connection(("127.0.0.1", server.port.number), timeout=20)
        info = json.loads(self._line(line).split(b" ", 1)[1])
        context = ssl.create_default_context(cafile=ca)
        if certificate:
            context.load_cert_chain(*certificate)
        self.line = context.wrap_socket(line, server_hostname="localhost")
        hello = {"verbose": False, "pedantic": False, "headers": True, "tls_required": True}
        if key:
            hello["sig"] = key.sign(info["nonce"].encode())
            hello.update({"jwt": token} if token else {"nkey": key.public})
        self.send(f"CONNECT {json.dumps(hello)}\r\nSUB _INBOX.test 1\r\nPING\r\n")
        while (got := self._line(self.line)) != b"PONG":
            assert not got.startswith(b"-ERR"), got

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.line.close()

    def send(self, text):
        self.line.sendall(text.encode())

    @staticmethod
    def _line(line):
        out = b""
        while not out.endswith(b"\r\n"):
            byte = line.recv(1)
            assert byte, "the server closed the connection"
            out += byte
        return out[:-2]

    def ask(self, subject, body=""):
        """A request's reply, as JSON."""
        self.send(f"PUB {subject} _INBOX.test {len(body)}\r\n{body}\r\n")
        while True:
            head = self._line(self.line).split(b" ")
            assert head[0] != b"-ERR", head
            if head[0] == b"PING":
                self.send("PONG\r\n")
            if head[0] == b"MSG":
                size = int(head[-1])
                out = b""
                while len(out) < size + 2:
                    out += self.line.recv(size + 2 - len(out))
                return json.loads(out[:size])

    def make_stream(self, stream, subject, consumer):
        made = self.ask(f"$JS.API.STREAM.CREATE.{stream}",
                        json.dumps({"name": stream, "subjects": [subject]}))
        assert "error" not in made, made
        made = self.ask(f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{consumer}", json.dumps({
            "stream_name": stream, "config": {
                "durable_name": consumer, "ack_policy": "explicit", "ack_wait": 5_000_000_000}}))
        assert "error" not in made, made

    def publish(self, subject, payload):
        """Until the stream has it."""
        answer = self.ask(subject, payload)
        assert "error" not in answer, answer

    def messages(self, stream):
        """The payloads that the stream keeps."""
        last = self.ask(f"$JS.API.STREAM.INFO.{stream}")["state"]["messages"]
        found = [self.ask(f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"seq": number}))
                 for number in range(1, last + 1)]
        return [base64.b64decode(one["message"]["data"]).decode() for one in found]
