"""What dpkg knows of files and packages."""
import os
import subprocess
from dataclasses import dataclass

from contents import output_of

FIELDS = ("binary:Package", "Version", "Architecture", "source:Package", "source:Version",
          "Homepage")


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    homepage: str

    @property
    def copyright_file(self):
        return f"/usr/share/doc/{self.name}/copyright"


def owners(files):
    """The name of the package that each file comes from; of a link, of the file behind it."""
    spellings = {}
    for file in files:
        for each in {file, os.path.realpath(file)}:
            spellings.setdefault(each, set()).add(file)
            # Where /lib is a link to /usr/lib, packages may have either.
            other = each.removeprefix("/usr") if each.startswith("/usr/lib") else f"/usr{each}"
            spellings.setdefault(other, set()).add(file)
    found = {}
    listed = _search(sorted(spellings))
    for line in listed.splitlines():
        package, _, file = line.rpartition(": ")
        if file in spellings and not package.startswith("diversion "):
            for named in spellings[file]:
                found[named] = package.split(",")[0].split(":")[0].strip()
    missing = sorted(set(files) - found.keys())
    if missing:
        raise SystemExit(f"sbom: no package of Debian has {', '.join(missing[:5])}")
    return found


def _search(files):
    """dpkg-query -S answers what it finds, and ends with 1 as soon as one is not found."""
    found = ""
    for begin in range(0, len(files), 2000):
        found += subprocess.run(["dpkg-query", "-S", *files[begin:begin + 2000]],
                                capture_output=True, text=True, check=False).stdout
    return found


def packages(names):
    wanted = "\t".join(f"${{{field}}}" for field in FIELDS) + "\n"
    found = {}
    for line in output_of("dpkg-query", "-W", "-f", wanted, *sorted(names)).splitlines():
        package = Package(*line.split("\t"))
        name = package.name.split(":")[0]
        found[name] = Package(name, *line.split("\t")[1:])
    return found
