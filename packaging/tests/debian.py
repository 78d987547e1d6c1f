"""A Debian 12 in a folder, on which the packages are installed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = pathlib.Path(os.environ.get("ONCEGUARD_PACKAGES") or ROOT / "build/package")
ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


def package(name):
    [file] = PACKAGES.glob(f"{name}_*.deb")
    return file


class Debian:
    """Commands run as root in it, with the network of this machine, for the mirror's sake."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def copy(self, folder):
        subprocess.run(["cp", "-a", "--reflink=auto", self.folder, folder], check=True)
        return Debian(folder)

    def remove(self):
        subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=True)

    def run(self, *words, check=True, **environment):
        """Ends when the command does; nothing of it stays mounted or running."""
        inner = ('mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; '
                 'exec chroot "$0" "$@"')
        proxies = {name: os.environ[name] for name in ("http_proxy", "https_proxy")
                   if name in os.environ}
        given = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                 "DEBIAN_FRONTEND": "noninteractive", **proxies, **environment}
        done = subprocess.run(
            [*ALONE, "bash", "-ec", inner, self.folder, "env", "-i",
             *(f"{name}={value}" for name, value in given.items()), *map(str, words)],
            capture_output=True, text=True, timeout=900, check=False, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    def apt(self, *words, **how):
        return self.run("apt-get", "-qq", "-y", *words, **how)

    def take(self, file):
        """The path in this Debian of a copy of the file."""
        (self.folder / "srv").mkdir(exist_ok=True)
        shutil.copy(file, self.folder / "srv")
        return f"/srv/{pathlib.Path(file).name}"

    def install(self, *files, only=("--no-install-recommends",)):
        return self.apt("install", *only, *(self.take(file) for file in files))

    def serve(self, *keys):
        """What served.py says."""
        done = subprocess.run(
            [*ALONE, "--net", sys.executable, HERE / "served.py", self.folder, *keys],
            capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def path(self, name):
        return self.folder / name.lstrip("/")

    def installed(self):
        """The size of each installed package in KiB."""
        lines = self.run("dpkg-query", "-W", "-f", "${Package} ${Installed-Size}\n").stdout
        return {name: int(size) for name, size in map(str.split, lines.splitlines())}

    def files(self):
        """All files but the mirror's lists, caches and logs of installations."""
        found = self.run("find", "/", "-xdev", "(", "-path", "/proc", "-o", "-path", "/dev", "-o",
                         "-path", "/var/cache", "-o", "-path", "/var/lib/apt", "-o", "-path",
                         "/var/log", "-o", "-path", "/srv", "-o", "-path", "/tmp", ")", "-prune",
                         "-o", "-print")
        return set(found.stdout.splitlines())


class Booted:
    """It, with systemd as its first process."""

    def __init__(self, debian):
        self.group = f"onceguard-test-{os.getpid()}"
        self.log = open(f"{debian.folder}.log", "w", encoding="utf-8")
        self.process = subprocess.Popen([HERE / "boot.sh", debian.folder, self.group],
                                        stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT)
        self._within = None
        end = time.monotonic() + 120
        while self.state() not in ("running", "degraded"):
            assert self.process.poll() is None and time.monotonic() < end, \
                pathlib.Path(self.log.name).read_text()
            time.sleep(0.2)

    def state(self):
        if self._within is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            found = children.read_text().split()
            if not found or pathlib.Path(f"/proc/{found[0]}/comm").read_text() != "systemd\n":
                return "booting"
            self._within = ["nsenter", "-t", found[0], "-m", "-p", "-u", "-i", "-C", "-n"]
        return self.run("systemctl", "is-system-running", check=False).stdout.strip()

    def run(self, *words, check=True):
        done = subprocess.run([*self._within, *words], capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                   "DEBIAN_FRONTEND": "noninteractive"})
        assert not check or done.returncode == 0, \
            f"{words}\n{done.stdout}\n{done.stderr}\n{self.journal()}"
        return done

    def journal(self):
        return self.run("journalctl", "--no-pager", "-n", "40", check=False).stdout

    def charge(self, *keys):
        """What served.py says of requests to 127.0.0.1:8080 in its network."""
        done = subprocess.run(["nsenter", "-t", self._within[2], "-n", sys.executable,
                               HERE / "served.py", "-", *keys],
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + self.journal()
        return json.loads(done.stdout)

    def seen_from_outside(self, path):
        return f"/proc/{self._within[2]}/root{path}"

    def main_process(self, unit="onceguard-gateway"):
        return self.run("systemctl", "show", "-P", "MainPID", unit).stdout.strip()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        for folder in ("", "/systemd", "/unified"):
            self._remove(pathlib.Path(f"/sys/fs/cgroup{folder}/{self.group}"))

    @staticmethod
    def _remove(top):
        """Its processes end soon after the first one."""
        end = time.monotonic() + 60
        for group in sorted(top.rglob("*/"), reverse=True) + [top]:
            while group.is_dir():
                try:
                    group.rmdir()
                except OSError:
                    assert time.monotonic() < end, f"{group} is busy"
                    time.sleep(0.05)


def raised(package, folder, version):
    """The same package under another version, as a later release would be."""
    tree = pathlib.Path(folder) / f"onceguard-{version}"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text("".join(
        f"Version: {version}\n" if line.startswith("Version:") else line
        for line in control.read_text().splitlines(keepends=True)))
    out = pathlib.Path(folder) / f"onceguard_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, out], check=True,
                   capture_output=True)
    return out
