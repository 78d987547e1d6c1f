"""Processes that a test stops in the middle of their work."""

import os
import signal
import subprocess

from support.gateway import clean_environment


def stopped_amid_its_work(command, part, cwd=None):
    """Starts the command, and stops it (SIGSTOP) while its unfinished file `part` is there.

    A command that was done before it could be stopped is a failure: its work is too small.
    """
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=clean_environment())
    while not os.path.exists(part):
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    assert os.path.exists(part), "it was done too soon"
    return process
