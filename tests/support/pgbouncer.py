"""A PgBouncer of the tests' own, on a free port, in front of one of their servers."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import psycopg

from support.ports import Port
from support.waiting import wait_until

PROGRAM = "/usr/sbin/pgbouncer"
USERS = ("postgres", "gateway", "owner", "shop")

# Few server connections, so that clients share them.
SETTINGS = {
    "pool_mode": "transaction",
    "default_pool_size": "2",
    "max_client_conn": "200",
    "listen_addr": "127.0.0.1",
    "unix_socket_dir": "",
    "auth_type": "trust",
    "admin_users": "postgres",
}


class PgBouncer:
    """Runs as the user `postgres` where root runs the tests, as PgBouncer refuses to be root."""

    def __init__(self, server, **settings):
        self.port = Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-pgbouncer-"))
        self.process = None
        users = self.folder / "users"
        users.write_text("".join(f'"{user}" ""\n' for user in USERS))
        lines = ["[databases]", f"* = host=127.0.0.1 port={server.port.number}", "[pgbouncer]"]
        every = {**SETTINGS, "listen_port": self.port.number, "auth_file": users,
                 "logfile": self.folder / "log", **settings}
        lines += [f"{name} = {value}" for name, value in every.items()]
        (self.folder / "settings.ini").write_text("\n".join(lines) + "\n")
        self._as = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, user.pw_uid, user.pw_gid)
            self._as = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]

    def start(self):
        assert self.process is None
        with open(self.folder / "output", "ab") as output:
            # If this process dies before it can end the pooler, the pooler ends at once.
            self.process = subprocess.Popen(
                ["setpriv", *self._as, "--pdeathsig", "KILL", "--",
                 PROGRAM, str(self.folder / "settings.ini")],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(self._answers, 60, "the pooler answering")
        return self

    def _answers(self):
        assert self.process.poll() is None, f"the pooler ended:\n{self.log()}"
        try:
            # PgBouncer's own console: no server connection is opened for it.
            with self.connect("pgbouncer") as console:
                console.execute("SHOW VERSION")
            return True
        except psycopg.OperationalError:
            return False

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(60)
            self.process = None

    def close(self):
        self.kill()
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def url(self, database="postgres", user="postgres"):
        return f"postgresql://{user}@127.0.0.1:{self.port.number}/{database}"

    def connect(self, database="postgres", user="postgres", **how):
        """A client without prepared statements."""
        how.setdefault("autocommit", True)
        how.setdefault("prepare_threshold", None)
        return psycopg.connect(self.url(database, user), connect_timeout=10,
                               cursor_factory=psycopg.ClientCursor, **how)
