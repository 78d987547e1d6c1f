"""A volume whose power can be cut: ext4 on a loop device, shut down as a power cut would."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, as `xfs_io -x -c shutdown` calls it
WITH_JOURNAL = 1       # what the journal has is flushed before: sizes and names, without the data
WITHOUT_JOURNAL = 2    # nothing that was not flushed is on the disk


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=120)
    if done.returncode != 0:
        raise PermissionError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Volume:
    """A small ext4, mounted at `path`."""

    def __init__(self, options, size):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="onceguard-power-"))
        self.path = self.folder / "volume"
        self.path.mkdir()
        self.image = self.folder / "image"
        self.options = options
        self.mounted = False
        with open(self.image, "wb") as file:
            file.truncate(int(size[:-1]) << 20)
        try:
            run("mkfs.ext4", "-q", "-F", self.image)
            self.mount()
        except (OSError, PermissionError):
            self.close()
            raise

    def mount(self):
        run("mount", "-o", f"loop,{self.options}", self.image, self.path)
        self.mounted = True

    def cut(self, how=WITHOUT_JOURNAL):
        """From now on nothing more gets to the disk. Whoever uses the volume has to end then."""
        at = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(at, SHUTDOWN, struct.pack("I", how))
        finally:
            os.close(at)

    def back(self):
        """The power is back: the journal is replayed, as at the start of a machine."""
        run("umount", self.path)
        self.mounted = False
        self.mount()

    def close(self):
        if self.mounted:
            with contextlib.suppress(PermissionError):
                run("umount", self.path)
        shutil.rmtree(self.folder, ignore_errors=True)


def volume_or_why(options, size):
    """A volume; where this user may have none, None and the reason."""
    try:
        made = Volume(options, size)
    except (OSError, PermissionError) as why:
        return None, str(why)
    return made, ""
