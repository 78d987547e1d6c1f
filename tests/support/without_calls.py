"""Runs a program under a filter that refuses system calls: without_calls.py CALL,CALL PROGRAM…"""

import ctypes
import errno
import os
import sys

ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


def main():
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    made = ctypes.c_void_p(library.seccomp_init(ALLOW))
    for name in sys.argv[1].split(","):
        call = library.seccomp_syscall_resolve_name(name.encode())
        assert library.seccomp_rule_add_array(made, REFUSE, call, 0, None) == 0, name
    assert library.seccomp_load(made) == 0
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
