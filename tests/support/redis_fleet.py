"""Several Redis servers of the tests' own: a Cluster, or a master that sentinels watch over."""

import signal

from support.ports import Port
from support.redis import Redis
from support.waiting import wait_until

REPLICATION = {"repl-diskless-sync-delay": "0"}


def replication(server):
    """What it says of it; nothing while its connections are ended, as a sentinel does to whom it
    promotes."""
    try:
        return server.run("INFO replication")
    except ConnectionError:
        return b""


def is_master(server):
    return b"role:master\r" in replication(server)


def is_attached(server):
    return b"master_link_status:up\r" in replication(server)


class Fleet:
    """What both have in common. A test kills masters and waits until all is well again.

    `tls`: the paths of an authority, a certificate and its key. Then each server also has a port
    for TLS, by which the servers speak with one another, too.
    """

    def __init__(self, tls=None):
        self.servers = []
        self.made = 0
        self.tls = tls
        self.tls_ports = []

    def close(self):
        for server in self.servers:
            server.close()
        for port in self.tls_ports:
            port.close()

    def tls_settings(self):
        """Of the next server."""
        if self.tls is None:
            return {}
        authority, certificate, key = self.tls
        self.tls_ports.append(Port())
        return {"tls-port": str(self.tls_ports[-1].number), "tls-ca-cert-file": authority,
                "tls-cert-file": certificate, "tls-key-file": key, "tls-replication": "yes"}

    def url_of(self, scheme, ports, path=""):
        """Of a store of its own."""
        self.made += 1
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"{scheme}://{hosts}{path}?prefix=store-{self.made}:"

    def crash_master(self, turn, while_heir_hangs=None):
        """Kills one, waits for its heir, starts it again and waits until all are in place."""
        victim, heir = self.pair(turn)
        if while_heir_hangs:
            heir.process.send_signal(signal.SIGSTOP)
            try:
                # Else it would read what was sent to it once it goes on.
                victim.run("CLIENT KILL TYPE replica")
                while_heir_hangs()
            finally:
                victim.crash()
                heir.process.send_signal(signal.SIGCONT)
        else:
            victim.crash()
        wait_until(lambda: self._has_taken_over(heir), 120, "the replica to take over")
        victim.start()
        self.wait_until_whole()

    def _has_taken_over(self, heir):
        return is_master(heir)

    def wait_until_whole(self):
        wait_until(self._is_whole, 120, "all servers in their places")


class RedisCluster(Fleet):
    """Three masters with a replica each."""

    MASTERS = 3

    def start(self):
        for number in range(2 * self.MASTERS):
            bus = Port()
            server = Redis({"cluster-enabled": "yes", "cluster-port": str(bus.number),
                            "cluster-node-timeout": "1500", "cluster-replica-validity-factor": "0",
                            "cluster-allow-replica-migration": "no", **REPLICATION,
                            **({"tls-cluster": "yes"} if self.tls else {}),
                            **self.tls_settings()})
            server.bus = bus
            self.servers.append(server.start())
            server.run(f"CLUSTER SET-CONFIG-EPOCH {number + 1}")
        first = self.servers[0]
        for number, server in enumerate(self.servers):
            if number < self.MASTERS:
                begin, end = (16384 * n // self.MASTERS for n in (number, number + 1))
                server.run(f"CLUSTER ADDSLOTSRANGE {begin} {end - 1}")
            if server is not first:
                port = self.tls_ports[number] if self.tls else server.port
                first.run(f"CLUSTER MEET 127.0.0.1 {port.number} {server.bus.number}")
        for number, server in enumerate(self.servers[self.MASTERS:]):
            master = self.id_of(self.servers[number])
            wait_until(lambda s=server, m=master: s.run(f"CLUSTER REPLICATE {m}") == b"+OK\r\n",
                       60, "a node to know its master")
        self.wait_until_whole()
        return self

    def close(self):
        super().close()
        for server in self.servers:
            server.bus.close()

    def url(self):
        return self.url_of("redis+cluster", [s.port.number for s in self.servers])

    def tls_url(self):
        return self.url_of("rediss+cluster", [port.number for port in self.tls_ports[:2]])

    @staticmethod
    def id_of(server):
        return server.run("CLUSTER MYID").split(b"\r\n")[1].decode()

    def pair(self, turn):
        masters = [s for s in self.servers if is_master(s)]
        victim = masters[turn % len(masters)]
        mark = f"myself,slave {self.id_of(victim)} ".encode()
        return victim, next(s for s in self.servers if mark in s.run("CLUSTER NODES"))

    def _is_whole(self):
        for server in self.servers:
            nodes = server.run("CLUSTER NODES")
            good = (b"cluster_state:ok\r" in server.run("CLUSTER INFO")
                    and nodes.count(b"connected") == len(self.servers)
                    and b"fail" not in nodes and b"handshake" not in nodes
                    and (is_master(server) or is_attached(server)))
            if not good:
                return False
        return True


class Sentinel(Redis):
    """One process; its settings are lines of its own."""

    def __init__(self, master_port, tls=None):
        super().__init__()
        lines = "".join(f"{name} {value}\n" for name, value in (tls or {}).items())
        (self.folder / "conf").write_text(
            lines +
            f"port {self.port.number}\nbind 127.0.0.1\ndir {self.folder}\n"
            f"sentinel monitor main 127.0.0.1 {master_port} 2\n"
            "sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 6000\n")

    def words(self):
        return [str(self.folder / "conf"), "--sentinel"]

    def start(self):
        super().start()
        self.run("SENTINEL DEBUG info-period 200 publish-period 200 ping-period 200 "
                 "ask-period 200 tilt-trigger 60000")
        return self

    def reported(self, name):
        words = self.run("SENTINEL MASTER main").split(b"\r\n")
        return words[words.index(name.encode()) + 2].decode()


class RedisSentinels(Fleet):
    """A master with a replica, and three sentinels."""

    def __init__(self, tls=None):
        super().__init__(tls)
        self.sentinels = []

    def start(self):
        self.servers.append(Redis({**REPLICATION, **self.tls_settings()}).start())
        port = self.tls_ports[0].number if self.tls else self.servers[0].port.number
        self.servers.append(Redis({"replicaof": f"127.0.0.1 {port}", **REPLICATION,
                                   **self.tls_settings()}).start())
        for _ in range(3):
            self.sentinels.append(Sentinel(port, self.tls_settings()).start())
        self.wait_until_whole()
        return self

    def close(self):
        for sentinel in self.sentinels:
            sentinel.close()
        super().close()

    def url(self):
        return self.url_of("redis+sentinel", [s.port.number for s in self.sentinels], "/main")

    def tls_url(self):
        return self.url_of("rediss+sentinel", [port.number for port in self.tls_ports[2:]], "/main")

    def port_of(self, server):
        """That sentinels know it by."""
        port = self.tls_ports[self.servers.index(server)] if self.tls else server.port
        return str(port.number)

    def pair(self, _turn=0):
        port = self.sentinels[0].reported("port")
        victim, heir = sorted(self.servers, key=lambda s: self.port_of(s) != port)
        return victim, heir

    def _has_taken_over(self, heir):
        """Every sentinel has to know of it. One that does not yet, and sees the empty master of
        before running again, makes the heir its replica: all records are lost."""
        port = self.port_of(heir)
        return is_master(heir) and all(s.reported("port") == port for s in self.sentinels)

    def _is_whole(self):
        master, replica = self.pair()
        port = self.port_of(master)
        return (is_master(master) and is_attached(replica) and all(
            tuple(map(s.reported, ("port", "flags", "num-slaves", "num-other-sentinels")))
            == (port, "master", "1", "2") for s in self.sentinels))
