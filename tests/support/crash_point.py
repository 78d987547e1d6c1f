"""The system call before which a gateway dies."""

import os
import struct

from support.gateway import writable_folder

LAYOUT = struct.Struct("=q24s")  # as test_crash.cpp has it


class CrashPoint:
    """Deaths of a gateway that was given `environment`; see test_crash.cpp."""

    def __init__(self, onceguard):
        self.file = writable_folder("crash-") / "point"
        self.file.write_bytes(LAYOUT.pack(0, b""))
        library = onceguard.parent / "tests" / "libtest_crash.so"
        assert library.is_file(), f"no {library}: build test_crash"
        # AddressSanitizer wants to be the first library, which it need not be for this.
        options = os.environ.get("ASAN_OPTIONS", "quarantine_size_mb=4")
        self.environment = {"LD_PRELOAD": str(library), "ONCEGUARD_TEST_CRASH": str(self.file),
                            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0"}

    def set(self, call):
        """The gateway dies before its `call`-th system call from now on; 0: it lives."""
        with self.file.open("r+b") as file:  # in place, as the gateway has it mapped
            file.write(LAYOUT.pack(call, b""))

    def reached(self):
        """The name of that call, or None."""
        left, name = LAYOUT.unpack(self.file.read_bytes())
        return name.rstrip(b"\0").decode() if left == 0 and name[0] else None
