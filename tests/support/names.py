"""Host names of a test's own, whose look-ups it counts and lets hang."""

import os

from support.gateway import writable_folder


class Names:
    """Look-ups of a gateway that was given `environment`; see test_names.cpp."""

    def __init__(self, onceguard):
        self.folder = writable_folder("names-")
        library = onceguard.parent / "tests" / "libtest_names.so"
        assert library.is_file(), f"no {library}: build test_names"
        self.environment = {"LD_PRELOAD": str(library), "ONCEGUARD_TEST_NAMES": str(self.folder)}
        # AddressSanitizer wants to be the first library, which it need not be for this.
        options = os.environ.get("ASAN_OPTIONS", "quarantine_size_mb=4")
        self.environment["ASAN_OPTIONS"] = f"{options}:verify_asan_link_order=0"

    def add(self, name, hangs=False, addresses=("127.0.0.1",)):
        """The name stands for these; where it hangs, not before go_on()."""
        (self.folder / f"{name}.addresses").write_text("\n".join(addresses))
        if hangs:
            self._hanging(name).touch()
        (self.folder / name).touch()

    def go_on(self, name):
        self._hanging(name).unlink()

    def look_ups(self, name):
        """How many there were so far."""
        return len((self.folder / name).read_text().splitlines())

    def _hanging(self, name):
        return self.folder / f"{name}.hangs"
