"""Makes one thread of a process stand still, as a thread that waits for ever does."""

import ctypes
import os
import pathlib

from support.waiting import wait_until

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"ptrace {request:#x}")


class StuckThread:
    """Stands still within the `with`. Used by one thread of the test."""

    def __init__(self, thread):
        self.thread = thread

    def __enter__(self):
        _ptrace(PTRACE_SEIZE, self.thread)
        _ptrace(PTRACE_INTERRUPT, self.thread)
        os.waitpid(self.thread, WALL)
        status = pathlib.Path(f"/proc/{self.thread}/status")
        wait_until(lambda: "\nState:\tt" in status.read_text(), what="the thread standing still")
        return self

    def __exit__(self, *_):
        _ptrace(PTRACE_DETACH, self.thread)


def threads_called(pid, name):
    """The ids of the threads of a process that are called so."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().strip() == name:
                found.append(int(task.name))
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile
    return found
