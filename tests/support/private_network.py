"""A network of the tests' own, in which nftables cut whoever talks to one address."""

import contextlib
import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
STORE = "127.0.0.2"  # what is cut; tests themselves use 127.0.0.1
TO, FROM = f"ip daddr {STORE} tcp dport", f"ip saddr {STORE} tcp sport"

# What becomes of packets to the store's port, and of those from it.
CUTS = {
    "drop": ("add rule inet cut out {to} {port} drop", "add rule inet cut out {back} {port} drop"),
    "reject": ("add rule inet cut out {to} {port} reject with tcp reset",),
    "requests": ("add rule inet cut out {to} {port} drop",),
    "replies": ("add rule inet cut out {back} {port} drop",),
}


def _call(function, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{function}: {os.strerror(ctypes.get_errno())}")


def _run(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False,
                          timeout=60)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


class PrivateNetwork:
    """This thread, and the threads and programs that it starts from now on, are in it, until
    close()."""

    def __init__(self):
        self._former = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self._inside = False
        try:
            _call("unshare", CLONE_NEWNET)
            self._inside = True
            _run("ip", "link", "set", "lo", "up")
            _run("nft", "-f", "-", text="add table inet cut\nadd chain inet cut out "
                 "{ type filter hook output priority 0; }\n")
        except OSError:
            self.close()
            raise

    @contextlib.contextmanager
    def cut(self, how, port):
        """Meanwhile nothing gets through to the store, or back from it, or neither."""
        rules = [rule.format(to=TO, back=FROM, port=port) for rule in CUTS[how]]
        _run("nft", "-f", "-", text="\n".join(rules) + "\n")
        try:
            yield
        finally:
            _run("nft", "flush", "chain", "inet", "cut", "out")

    def close(self):
        if self._inside:
            _call("setns", self._former, CLONE_NEWNET)
        os.close(self._former)
