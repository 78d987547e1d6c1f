"""Processes that a test stops in the middle of their work."""

import os
import signal
import subprocess

from support.gateway import clean_environment


def stopped_amid_its_work(command, part, made, cwd=None):
    """Starts the command, and stops it (SIGSTOP) while its unfinished file `part` is there.

    One that was done before it could be stopped, and has `made` this file, is started again.
    """
    for _ in range(10):
        process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=clean_environment())
        while not os.path.exists(part) and process.poll() is None:
            pass
        process.send_signal(signal.SIGSTOP)
        if process.returncode is None:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if process.poll() is None and os.path.exists(part):
            return process
        process.send_signal(signal.SIGCONT)
        said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        os.unlink(made)
    raise AssertionError("it is done too soon each time: its work is too small")
