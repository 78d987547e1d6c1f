"""A streaming replica of a server of the tests, which may take its place."""

from support.postgres import PROGRAMS, Postgres
from support.waiting import wait_until


class Standby(Postgres):
    """A copy of a running primary that follows it from its start on."""

    def __init__(self, primary):
        self.primary = primary
        # It waits for no standby itself, once it is promoted.
        super().__init__({"synchronous_standby_names": "''"})

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
