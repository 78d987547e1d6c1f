"""What a program is made of, as its build and its file say: sources and headers that were compiled
in, archives that were linked, libraries that it is linked with or loads later."""
import re
import subprocess
from pathlib import Path


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


class Contents:
    """Of the program in a build directory of ninja."""

    def __init__(self, build, program="onceguard"):
        self.program = Path(build) / program
        self._build = Path(build)
        self._directories = library_directories()
        inputs = set(output_of("ninja", "-C", build, "-t", "inputs", program).splitlines())
        self.compiled_in = {file for file in self._dependencies(inputs) if file.startswith("/usr/")}
        command = output_of("ninja", "-C", build, "-t", "commands", "-s", program)
        self.archives = {word for word in command.split()
                         if word.startswith("/") and word.endswith(".a")}
        self.compiler = next(word for word in command.split() if word.startswith("/"))
        self.linked = self._files(needed_by(self.program))
        late = self._build / "generated/late_functions.c"
        names = set(re.findall(r'^LATE\(\w+, "([^"]+)"\)', late.read_text(), re.MULTILINE)) \
            if late.exists() else set()
        self.loaded_later = self._files(names)

    def _dependencies(self, inputs):
        """All files that the compiler read for the objects of the program."""
        wanted, found = False, set()
        for line in output_of("ninja", "-C", self._build, "-t", "deps").splitlines():
            if line.startswith(" "):
                if wanted:
                    found.add(line.strip())
            elif line:
                wanted = line.split(": #deps", 1)[0] in inputs
        return found

    def _files(self, names):
        """Where the dynamic linker finds libraries of these names."""
        return {name: self._directories[name] for name in sorted(names)}

    def closure(self):
        """Each library that is in memory in the end, with the libraries that it needs itself."""
        found, waiting = {}, [*self.linked.values(), *self.loaded_later.values()]
        while waiting:
            library = waiting.pop()
            if library not in found:
                needed = self._files(needed_by(library)).values()
                found[library] = sorted(needed)
                waiting += needed
        return dict(sorted(found.items()))


def needed_by(file):
    """The names of the libraries without which a program or library does not start."""
    return set(re.findall(r"\(NEEDED\).*\[([^]]+)\]", output_of("readelf", "-d", file)))


def library_directories():
    """The dynamic linker's own list: the file of each name, for this machine's architecture."""
    found = {}
    for name, kind, file in re.findall(r"^\t(\S+) \(([^)]*)\) => (\S+)$",
                                       output_of("/sbin/ldconfig", "-p"), re.MULTILINE):
        if kind != "libc6": # those of another architecture, on one of 64 bits
            found.setdefault(name, file)
    return found
