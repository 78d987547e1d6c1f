"""A terminal of a test's own, with a program in its foreground."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios

from support.waiting import PATIENCE, Stopwatch

PATIENT = 20 * PATIENCE  # seconds


class Terminal:
    """A program as the foreground process of a terminal."""

    def __init__(self, words, environment, folder, rows=24, columns=80):
        # The size is there before the program: it may ask at once.
        self.master, other = pty.openpty()
        self.resize(rows, columns)
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(self.master)
                os.login_tty(other)
                os.chdir(folder)
                os.execvpe(words[0], words, environment)
            finally:
                os._exit(127)
        os.close(other)
        self.text = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, within=PATIENT):
        """Reads on. False: the program and all that held the terminal are gone."""
        if not select.select([self.master], [], [], within)[0]:
            os.kill(self.process, signal.SIGKILL)
            raise AssertionError(f"nothing more is shown after {self.text[-2000:]!r}")
        try:
            got = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += got
        return bool(got)

    def until(self, text):
        """Reads until the text is shown, and forgets what was shown up to its end."""
        clock = Stopwatch()
        while text not in self.text:
            assert self.read() and clock.seconds < PATIENT, self.text[-2000:]
        before, _, self.text = self.text.partition(text)
        return before + text

    def type(self, text):
        os.write(self.master, text)

    def settings(self):
        return termios.tcgetattr(self.master)

    def end(self):
        """Reads the rest, and returns the exit code, or the number of a signal below zero."""
        while self.read():
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
