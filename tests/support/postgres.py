"""A PostgreSQL server of the tests' own, in a temporary folder and on a free port."""

import contextlib
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

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Without fsync: a crash of the server loses nothing that the kernel was given.
SETTINGS = {
    "fsync": "off",
    "listen_addresses": "'127.0.0.1'",
    "shared_buffers": "'64MB'",
    "max_connections": "100",
    "timezone": "'UTC'",
    "log_min_messages": "warning",
    "autovacuum_naptime": "'1h'",
}


def migration_text():
    """The whole schema as one script, by the program under test."""
    program = os.environ.get("ONCEGUARD_BIN") or ROOT / "build/release/onceguard"
    return subprocess.run([str(program), "migrate", "--print"], capture_output=True, text=True,
                          check=True, timeout=60).stdout


class Postgres:
    """Started by whoever runs the tests, or as the user `postgres` where that is root."""

    def __init__(self, settings=None):
        self.port = Port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-pg-"))
        self.cluster = self.folder / "cluster"
        self.process = None
        self.made = 0
        self.template = None
        self._as = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as = ["setpriv", "--reuid", "postgres", "--regid", "postgres",
                        "--clear-groups"]
        self._make_cluster()
        self.configure({**SETTINGS, **(settings or {})})

    def _make_cluster(self):
        """A copy of the cluster that postgres_server.hpp keeps too: initdb takes a second."""
        user = pwd.getpwnam("postgres").pw_uid if self._as else os.geteuid()
        kept = pathlib.Path(tempfile.gettempdir()) / f"onceguard-postgres-15-{user}"
        if not (kept / "PG_VERSION").exists() or kept.stat().st_uid != user:
            made = self.folder / "empty"
            self._run(PROGRAMS / "initdb", "-D", str(made), "--no-sync", "-A", "trust",
                      "-U", "postgres", "-E", "UTF8", "--locale=C")
            try:
                made.rename(kept)
            except OSError:  # another suite was first
                kept = kept if (kept / "PG_VERSION").exists() else made
        self._run("cp", "-r", str(kept), str(self.cluster))

    # ---- its life -------------------------------------------------------------------------
    def _run(self, program, *arguments):
        done = subprocess.run([*self._as, str(program), *arguments], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def configure(self, settings):
        """Adds settings; they are in force after the next start."""
        with open(self.cluster / "postgresql.auto.conf", "a", encoding="utf-8") as file:
            for name, value in settings.items():
                file.write(f"{name} = {value}\n")

    def start(self):
        assert self.process is None
        with open(self.folder / "log", "ab") as log:
            # Should this process die before it could, the server ends at once.
            self.process = subprocess.Popen(
                ["setpriv", *self._as[1:], "--pdeathsig", "QUIT", "--",
                 str(PROGRAMS / "postgres"), "-D", str(self.cluster),
                 "-p", str(self.port.number), "-k", str(self.folder)],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers, 60, "the server answering")
        return self

    def _answers(self):
        assert self.process.poll() is None, f"the server ended:\n{self.log()}"
        try:
            self.connect().close()
            return True
        except psycopg.OperationalError:
            return False

    def stop(self, how=signal.SIGINT):
        """SIGINT ends it in order ("fast"); SIGQUIT at once ("immediate"), as a crash does."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def crash(self):
        self.stop(signal.SIGQUIT)

    def kill(self):
        """SIGKILL for all of it: the sessions go with their postmaster, as with their machine."""
        if self.process is not None:
            sessions = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            members = [int(number) for number in sessions.read_text().split()]
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(60)
            self.process = None
            for number in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            wait_until(lambda: not any(pathlib.Path(f"/proc/{number}").exists()
                                       for number in members), 60, "the end of its sessions")

    def reload(self):
        """Takes over a changed pg_hba.conf and what else needs no restart."""
        self._run(PROGRAMS / "pg_ctl", "reload", "-D", str(self.cluster))

    def restart(self):
        self.stop()
        return self.start()

    def close(self):
        self.crash()
        self.port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    # ---- using it -------------------------------------------------------------------------
    def conninfo(self, database="postgres", user="postgres"):
        return f"host=127.0.0.1 port={self.port.number} dbname={database} user={user}"

    def url(self, database="postgres", user="postgres"):
        return f"postgresql://{user}@127.0.0.1:{self.port.number}/{database}"

    def connect(self, database="postgres", user="postgres", **how):
        how.setdefault("autocommit", True)
        return psycopg.connect(self.conninfo(database, user), connect_timeout=10, **how)

    def create_database(self, owner="postgres", template="template1"):
        """A database of its own; its name."""
        self.made += 1
        name = f"test_{self.made}"
        with self.connect() as admin:
            admin.execute(f"CREATE DATABASE {name} OWNER {owner} TEMPLATE {template} "
                          "STRATEGY FILE_COPY")  # as WAL, each costs five times as much
        return name

    def create_store(self):
        """A database with the schema; its name."""
        if self.template is None:
            name = self.create_database()
            with self.connect(name) as at:
                at.execute(migration_text())
            self.template = name
        return self.create_database(template=self.template)
