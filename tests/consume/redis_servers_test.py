"""`onceguard consume` on streams of a Redis Cluster, behind sentinels, and by TLS."""

import itertools
import signal
import socket

import pytest

from support.certificates import Authority
from support.consumer import Consumer, outcomes, settled
from support.redis_fleet import RedisCluster, RedisSentinels, is_master
from support.waiting import wait_until

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def files(authority):
    return authority.file, *authority.issue("redis")


@pytest.fixture(scope="module")
def cluster(files):
    running = RedisCluster(tls=files).start()
    yield running
    running.close()


@pytest.fixture(scope="module")
def sentinels(files):
    running = RedisSentinels(tls=files).start()
    yield running
    running.close()


@pytest.fixture
def begin(onceguard, tmp_path):
    made = []

    def consume(url, dead, ready="broker-connected", **more):
        table = {"subscriber": "billing", "from": url, "dead_letter": dead, "backoff": "100ms",
                 "command": ["sh", "-c", "grep -q good || exit 65"], **more}
        made.append(Consumer(onceguard, tmp_path, [table]))
        return made[-1].start(ready)

    yield consume
    for one in made:
        one.stop(signal.SIGKILL)


def url_of(scheme, ports, path, authority=None, files=None, group=True):
    parameters = (["group=billing", "create=yes", "hold=10s"] if group else [])
    if authority:
        _, certificate, key = files
        parameters += [f"tls_ca={authority.file}", f"tls_certificate={certificate}",
                       f"tls_key={key}"]
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"{scheme}://{hosts}/{path}" + ("?" if parameters else "") + "&".join(parameters)


def owner_of(cluster, name):
    """The master that has the key."""
    masters = [server for server in cluster.servers if is_master(server)]
    return next(s for s in masters if not s.run(f"EXISTS {name}").startswith(b"-MOVED"))


def streams_of(cluster):
    """Two names whose keys lie on different masters."""
    number = next(NUMBERS)
    source = f"orders-{number}"
    dead = next(name for name in (f"dead-{number}-{i}" for i in itertools.count())
                if owner_of(cluster, name) is not owner_of(cluster, source))
    return source, dead


def add(server, stream, number, word="good"):
    reply = server.run(f"XADD {stream} * payload {word} message_id m{number}")
    assert reply.startswith(b"$"), reply


@pytest.mark.parametrize("secure", [False, True])
def test_stream_and_dead_letters_lie_on_two_nodes_of_a_cluster(begin, cluster, authority, files,
                                                               secure):
    source, dead = streams_of(cluster)
    if secure:
        ports = [port.number for port in cluster.tls_ports]
        urls = [url_of("rediss+cluster", ports[:2], name, authority, files, name == source)
                for name in (source, dead)]
    else:
        # Every seed but one is a server that is away.
        ports = [1, next(s for s in cluster.servers if is_master(s)).port.number]
        urls = [url_of("redis+cluster", ports, name, group=name == source)
                for name in (source, dead)]
    consumer = begin(*urls)
    add(owner_of(cluster, source), source, 1)
    add(owner_of(cluster, source), source, 2, "bad")
    settled(consumer, 2)
    assert sorted(outcomes(consumer)) == ["dead", "handled"]
    server = owner_of(cluster, dead)
    wait_until(lambda: server.run(f"XLEN {dead}") == b":1\r\n", 30, "the dead letter")


def slot_of(server, name):
    return int(server.run(f"CLUSTER KEYSLOT {name}")[1:])


def send(server, *commands):
    """Several commands on one connection: their replies, as they come."""
    with socket.create_connection(("127.0.0.1", server.port.number), timeout=10) as line:
        for words in commands:
            parts = [word if isinstance(word, bytes) else word.encode() for word in words]
            line.sendall(b"*%d\r\n" % len(parts) + b"".join(
                b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
            reply = line.recv(1 << 20)
            if reply.startswith(b"$") and not reply.startswith(b"$-1"):
                size = int(reply[1:].partition(b"\r\n")[0])
                while len(reply) < size:
                    reply += line.recv(1 << 20)
                reply = reply.partition(b"\r\n")[2][:size]
    return reply


def asking(server, *words):
    return send(server, ("ASKING",), words)


def move(old, new, stream):
    """As MIGRATE does it, which would need a port in the clear between the two."""
    assert asking(new, "RESTORE", stream, "0", send(old, ("DUMP", stream))) == b"+OK\r\n"
    assert send(old, ("DEL", stream)) == b":1\r\n"


def test_a_slot_on_its_way_to_another_node_is_followed(begin, cluster):
    """Amid the migration of the stream, and after it."""
    source, dead = streams_of(cluster)
    old = owner_of(cluster, source)
    new = next(s for s in cluster.servers if is_master(s) and s is not old)
    slot = slot_of(old, source)
    ports = [old.port.number]
    consumer = begin(url_of("redis+cluster", ports, source),
                     url_of("redis+cluster", ports, dead, group=False))
    add(old, source, 1)
    settled(consumer, 1)
    try:
        new.run(f"CLUSTER SETSLOT {slot} IMPORTING {cluster.id_of(old)}")
        old.run(f"CLUSTER SETSLOT {slot} MIGRATING {cluster.id_of(new)}")
        move(old, new, source)
        asking(new, "XADD", source, "*", "payload", "good", "message_id", "m2")
        settled(consumer, 2)
        assert outcomes(consumer) == ["handled"] * 2, "while the slot is on its way"
    finally:
        for server in (new, old, *cluster.servers):
            if is_master(server):
                server.run(f"CLUSTER SETSLOT {slot} NODE {cluster.id_of(new)}")
    add(new, source, 3)
    settled(consumer, 3)
    assert outcomes(consumer) == ["handled"] * 3


def test_the_heir_of_a_node_is_found(begin, cluster):
    source, dead = streams_of(cluster)
    ports = [server.port.number for server in cluster.servers]
    consumer = begin(url_of("redis+cluster", ports, source),
                     url_of("redis+cluster", ports, dead, group=False))
    add(owner_of(cluster, source), source, 1)
    settled(consumer, 1)
    masters = [s for s in cluster.servers if is_master(s)]
    cluster.crash_master(masters.index(owner_of(cluster, source)))
    add(owner_of(cluster, source), source, 2)
    wait_until(lambda: "m2" in {event.get("message") for event in consumer.events("message")},
               60, "the message of the heir")


def test_the_master_that_sentinels_name_is_used(begin, sentinels, authority, files):
    ports = [port.number for port in sentinels.tls_ports[2:]]
    urls = [url_of("rediss+sentinel", ports, f"main/{name}", authority, files, name != "lost")
            for name in ("secure", "lost")]
    master, _ = sentinels.pair()
    consumer = begin(*urls)
    add(master, "secure", 1)
    settled(consumer, 1)
    assert outcomes(consumer) == ["handled"]
    sentinels.crash_master(0)
    master, _ = sentinels.pair()
    add(master, "secure", 2)
    wait_until(lambda: "m2" in {event.get("message") for event in consumer.events("message")},
               60, "the message of the heir")


def is_away(consumer, *words):
    """On a busy machine, the first attempts may end by their timeout."""
    wait_until(lambda: any(all(word in event["why"] for word in words)
                           for event in consumer.events("broker-away")),
               30, f"an attempt to connect that says {words}")
    assert consumer.process.poll() is None, "it waits for better days"


@pytest.mark.parametrize("fault", ["authority", "certificate", "master"])
def test_what_is_not_as_it_should_be_is_said(begin, cluster, sentinels, authority, files, tmp_path,
                                             fault):
    secure = [cluster.tls_ports[0].number]
    if fault == "authority":
        other = Authority(tmp_path / "other", "others")
        url, text = url_of("rediss+cluster", secure, "x", other, files), "certificate"
    elif fault == "certificate":
        url = url_of("rediss+cluster", secure, "x") + f"&tls_ca={authority.file}"
        text = "certificate required"
    else:
        secure = [port.number for port in sentinels.tls_ports[2:]]
        url = url_of("rediss+sentinel", secure, "nobody/x", authority, files)
        text = "knows no master named nobody"
    is_away(begin(url, "drop", ready=None), text, f"127.0.0.1:{secure[0]}")
