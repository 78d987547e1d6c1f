"""A Debian 12 in a folder, on which the packages are installed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


class Debian:
    """Commands run as root in it, with the network of this machine, for the mirror's sake."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def copy(self, folder):
        subprocess.run(["cp", "-a", "--reflink=auto", self.folder, folder], check=True)
        return Debian(folder)

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
