"""A streaming replica of a server of the tests, which may take its place."""

from support.ports import Port
from support.postgres import PROGRAMS, Postgres
from support.waiting import wait_until


class Standby(Postgres):
    """A copy of a running primary that follows it from its start on.

    `port`: of a server that is gone, whose place the standby takes.
    """

    def __init__(self, primary, port=None):
        self.primary = primary
        # It waits for no standby itself, once it is promoted.
        super().__init__({"synchronous_standby_names": "''"})
        if port is not None:
            self.port.close()
            self.port = port

    def _make_cluster(self):
        self._run(PROGRAMS / "pg_basebackup", "-D", str(self.cluster),
                  "-d", self.primary.conninfo(), "--write-recovery-conf", "--checkpoint=fast",
                  "--wal-method=stream", "--no-sync")

    def follows(self):
        """Waits until it has everything that the primary has now."""
        with self.primary.connect() as at:
            at.execute("SELECT pg_logical_emit_message(true, 'test', 'up to here')")
            end = at.execute("SELECT pg_current_wal_flush_lsn()").fetchone()[0]
        with self.connect() as here:
            wait_until(lambda: here.execute("SELECT pg_last_wal_replay_lsn() >= %s", (end,))
                       .fetchone()[0], 60, "the standby following")
        return self

    def promote(self):
        with self.connect() as at:
            assert at.execute("SELECT pg_promote(true, 60)").fetchone()[0]


def wait_for_each_commit(primary):
    """From now on a commit is acknowledged once the standby has it, too."""
    with primary.connect() as at:
        at.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        at.execute("SELECT pg_reload_conf()")
        wait_until(lambda: at.execute("SELECT count(*) FROM pg_stat_replication "
                                      "WHERE sync_state = 'sync'").fetchone()[0] == 1,
                   60, "a synchronous standby")


class Pair:
    """A primary and its synchronous standby, which take turns."""

    def __init__(self):
        self.primary = Postgres().start()
        self.database = self.primary.create_store()
        self.standby = None
        try:
            self.standby = Standby(self.primary).start().follows()
            wait_for_each_commit(self.primary)
        except BaseException:
            self.close()
            raise
        self.ports = (self.primary.port.number, self.standby.port.number)

    def url(self):
        """One for both; libpq's own words for: whichever takes writes."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"postgresql://postgres@{hosts}/{self.database}?target_session_attrs=read-write"

    def fail_over(self, meanwhile=lambda: None):
        """SIGKILL for the primary; the standby takes over, and gets a new one in the former
        primary's place. `meanwhile` is called while nobody takes writes."""
        former, self.primary, self.standby = self.primary, self.standby, None
        former.kill()
        meanwhile()
        self.primary.promote()
        port, former.port = former.port, Port()
        former.close()
        self.standby = Standby(self.primary, port).start().follows()
        wait_for_each_commit(self.primary)

    def close(self):
        for server in (self.primary, self.standby):
            if server is not None:
                server.close()
