"""The image of packaging/image, run by podman or unpacked into namespaces of the tests' own."""

import json
import pathlib
import resource
import signal
import subprocess
import sys
import tarfile

from support.gateway import clean_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "/usr/bin/onceguard"
STATE = "/var/lib/onceguard"
CONFIG = "/etc/onceguard/onceguard.toml"
USER = 65532

# Everything of the image is read-only but the volume, and files are mounted below /etc/onceguard.
ENTER = f"""
mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" &&
mount --bind /dev "$0/dev" && mount -t tmpfs -o mode=1777 tmp "$0/tmp" &&
mount --bind "$1" "$0{STATE}" && shift &&
{{ [[ "$1" == -- ]] || mount -t tmpfs -o mode=755 files "$0/etc/onceguard"; }} &&
for file in "$@"; do
  shift; [[ "$file" == -- ]] && break
  to="$0${{file#*:}}" && mkdir -p "${{to%/*}}" && touch "$to" &&
    mount --bind "${{file%%:*}}" "$to" || exit 1
done && exec /usr/sbin/chroot --userspec={USER}:{USER} "$0" "$@"
"""


def make_image(program, file, environment=None):
    """Runs make_image.py, and returns the digest that it says."""
    done = subprocess.run([sys.executable, str(ROOT / "packaging/image/make_image.py"),
                           str(program), str(file)], capture_output=True, text=True, check=False,
                          env=clean_environment() | (environment or {}))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


class Image:
    """An image file, and the tree that its layers make."""

    def __init__(self, program, folder):
        self.file, self.root = folder / "onceguard.tar", folder / "root"
        self.digest = make_image(program, self.file)
        self.root.mkdir()
        with tarfile.open(self.file) as tar:
            def read(path):
                return tar.extractfile(path).read()
            (found,) = json.loads(read("manifest.json"))
            self.name, = found["RepoTags"]
            whole = json.loads(read(found["Config"]))
            self.config, self.diff_ids = whole["config"], whole["rootfs"]["diff_ids"]
            self.entries = []
            for path in found["Layers"]:
                with tarfile.open(fileobj=tar.extractfile(path)) as layer:
                    self.entries += layer.getmembers()
                    # Trusted, as we have made it; modes and owners count.
                    layer.extractall(self.root, numeric_owner=True)


class Container:
    """A run of the image: its arguments are those of `podman run`, in other words."""

    def __init__(self, image, volume, environment=(), files=(), command=None):
        self.image, self.volume = image, pathlib.Path(volume)
        self.environment, self.files = dict(environment), dict(files)
        self.command = list(image.config["Cmd"] if command is None else command)

    def pid(self):
        """Of its process, outside of it."""
        raise NotImplementedError

    def user(self):
        """The numbers of the users and the groups that its process runs as."""
        status = pathlib.Path(f"/proc/{self.pid()}/status").read_text()
        return [line.split()[1:] for line in status.splitlines() if line[:4] in ("Uid:", "Gid:")]

    def root_options(self):
        """Of the mount that is its root."""
        mounts = pathlib.Path(f"/proc/{self.pid()}/mountinfo").read_text().splitlines()
        return [fields[5] for line in mounts if (fields := line.split())[4] == "/"][-1].split(",")


class InNamespace(Container):
    """Unpacked: mounts of its own, the user of the image, a read-only root."""

    def __init__(self, *arguments, **how):
        super().__init__(*arguments, **how)
        self.process = None
        self.lines = self.volume.parent / f"{self.volume.name}.log"

    def _call(self, command, environment):
        mounts = [f"{source}:{target}" for target, source in self.files.items()]
        plain = dict(entry.split("=", 1) for entry in self.image.config["Env"])
        return {"args": ["unshare", "--mount", "bash", "-c", ENTER, str(self.image.root),
                         str(self.volume), *mounts, "--", NAME, *command],
                "env": plain | environment, "cwd": "/"}

    def start(self):
        with self.lines.open("ab") as log:
            self.process = subprocess.Popen(**self._call(self.command, self.environment),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def run(self, *command):
        return subprocess.run(**self._call(command, self.environment), capture_output=True,
                              text=True, timeout=60, check=False)

    def pid(self):
        return self.process.pid

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        return self.process.wait(60)

    def log(self):
        return self.lines.read_text()

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Podman:
    """A podman with images and containers of its own."""

    def __init__(self, image, folder):
        self.image, self.folder = image, folder
        self.complaint = self._prepare()

    def __call__(self, *arguments):
        own = [f"--root={self.folder}/storage", f"--runroot={self.folder}/run",
               "--storage-driver=vfs", "--runtime=runc", "--cgroup-manager=cgroupfs",
               "--events-backend=none"]
        return subprocess.run(["podman", *own, *arguments], capture_output=True, text=True,
                              timeout=120, check=False, env=clean_environment())

    def _prepare(self):
        """Why containers can't run here, if they can't."""
        for arguments in (("pull", f"docker-archive:{self.image.file}"),
                          ("run", "--rm", *LIMITS, "--network=none", self.image.name, "--version")):
            done = self(*arguments)
            if done.returncode != 0:
                return done.stderr
        return None

    def close(self):
        self("rm", "--all", "--force", "--volumes")
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)


# Podman asks for more than a machine may give.
LIMITS = [f"--ulimit={name}={min(most, 4096)}:{min(most, 4096)}" for name, most in (
    ("nofile", resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    ("nproc", 4096))]


class InPodman(Container):
    def __init__(self, podman, *arguments, **how):
        super().__init__(*arguments, **how)
        self.podman, self.id = podman, None

    def _options(self):
        files = [f"--volume={source}:{target}:ro" for target, source in self.files.items()]
        return [*LIMITS, "--network=host", "--read-only", "--cap-drop=all",
                "--security-opt=no-new-privileges", f"--volume={self.volume}:{STATE}", *files,
                *(f"--env={name}={value}" for name, value in self.environment.items())]

    def start(self):
        done = self.podman("run", "--detach", *self._options(), self.image.name, *self.command)
        assert done.returncode == 0, done.stderr
        self.id = done.stdout.strip()
        return self

    def run(self, *command):
        """In the running container, or in another one."""
        if self.id is not None:
            return self.podman("exec", self.id, NAME, *command)
        return self.podman("run", "--rm", *self._options(), self.image.name, *command)

    def pid(self):
        return int(self.podman("inspect", self.id, "--format={{.State.Pid}}").stdout)

    def terminate(self):
        assert self.podman("kill", "--signal=TERM", self.id).returncode == 0

    def wait(self):
        return int(self.podman("wait", self.id).stdout)

    def log(self):
        done = self.podman("logs", self.id)
        return done.stdout + done.stderr

    def close(self):
        if self.id is not None:
            self.podman("rm", "--force", "--volumes", self.id)
