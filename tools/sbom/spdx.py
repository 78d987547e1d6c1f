#!/usr/bin/env python3
"""Writes the bill of materials of a built program: SPDX 2.3 as JSON.

    spdx.py BUILD OUTPUT     BUILD is a build directory of ninja with the program in it

It has the program, and each Debian package of which something is compiled in, linked statically,
linked, or loaded later; those that they need themselves; and what was needed to build. It is read
from the build and from dpkg, never from a list. Built from the same packages it is the same, byte
for byte: its time is SOURCE_DATE_EPOCH, or that of the last commit."""
import hashlib
import json
import os
import re
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import debian
from contents import Contents, output_of
from licences import Licences

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "SPDXRef-onceguard"
COMMENTS = {
    "CONTAINS": "headers or sources of it are compiled into the program",
    "STATIC_LINK": "parts of its archives are in the program",
    "DYNAMIC_LINK": "needed at the start",
    "late": "loaded at its first use, when an option asks for it",
}


def version():
    text = (ROOT / "include/onceguard/version.hpp").read_text(encoding="utf-8")
    return re.search(r'string_view version = "([\d.]+)"', text)[1]


def time_of_the_sources():
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        if not (ROOT / ".git").exists():
            sys.exit("sbom: outside of git, SOURCE_DATE_EPOCH must say when the sources were made")
        seconds = output_of("git", "-C", ROOT, "log", "-1", "--format=%ct")
    return datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def identifier(package):
    return "SPDXRef-deb-" + package.replace("+", "plus")


class Bill:
    def __init__(self, contents):
        self.contents = contents
        self.licences = Licences()
        self.relations = set()  # (from, kind, to, comment)
        closure = contents.closure()
        files = {*contents.compiled_in, *contents.archives, *closure, contents.compiler}
        owner = debian.owners(files)
        self.packages = debian.packages(set(owner.values()))
        self._relate_libraries(owner, closure)
        self._relate_what_is_inside(owner, closure)
        self._relate(identifier(owner[contents.compiler]), "BUILD_TOOL_OF", PROGRAM, "")

    def _relate(self, one, kind, other, comment):
        if one != other:
            self.relations.add((one, kind, other, comment))

    def _relate_libraries(self, owner, closure):
        at_start = {owner[file] for file in self.contents.linked.values()}
        for package in at_start:
            self._relate(PROGRAM, "DYNAMIC_LINK", identifier(package), COMMENTS["DYNAMIC_LINK"])
        for package in {owner[file] for file in self.contents.loaded_later.values()} - at_start:
            self._relate(PROGRAM, "DYNAMIC_LINK", identifier(package), COMMENTS["late"])
        for library, needed in closure.items():
            for other in needed:
                self._relate(identifier(owner[library]), "DEPENDS_ON", identifier(owner[other]), "")

    def _relate_what_is_inside(self, owner, closure):
        """Headers of a shared library, of the compiler and of the kernel only describe it; those
        of others are their code."""
        describing = {*closure, self.contents.compiler}
        described = {self.packages[owner[file]].source for file in describing} | {"linux"}
        archives = {owner[file] for file in self.contents.archives}
        for package in archives:
            self._relate(PROGRAM, "STATIC_LINK", identifier(package), COMMENTS["STATIC_LINK"])
        for package in {owner[file] for file in self.contents.compiled_in} - archives:
            if self.packages[package].source in described:
                self._relate(identifier(package), "BUILD_DEPENDENCY_OF", PROGRAM, "")
            else:
                self._relate(PROGRAM, "CONTAINS", identifier(package), COMMENTS["CONTAINS"])

    def document(self):
        packages = [self._program(), *(self._package(each)
                                       for each in sorted(self.packages.values()))]
        relations = [("SPDXRef-DOCUMENT", "DESCRIBES", PROGRAM, ""), *sorted(self.relations)]
        made = {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"onceguard-{version()}",
            "creationInfo": {
                "created": time_of_the_sources(),
                "creators": ["Organization: The Onceguard authors",
                             f"Tool: onceguard-sbom-{version()}"],
            },
            "packages": packages,
            "hasExtractedLicensingInfos": [
                {"licenseId": name, "name": short, "extractedText": text}
                for name, (short, text) in sorted(self.licences.texts.items())],
            "relationships": [_relation(*each) for each in relations],
        }
        digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
        made["documentNamespace"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}"
        return made

    def _program(self):
        content = self.contents.program.read_bytes()
        return {
            "SPDXID": PROGRAM, "name": "onceguard", "versionInfo": version(),
            "supplier": "Organization: The Onceguard authors",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "packageFileName": self.contents.program.name,
            "primaryPackagePurpose": "APPLICATION",
            "checksums": [{"algorithm": "SHA256",
                           "checksumValue": hashlib.sha256(content).hexdigest()}],
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION",
        }

    def _package(self, package):
        place = f"pkg:deb/debian/{package.name.replace('+', '%2B')}@" \
                f"{package.version.replace(':', '%3A').replace('+', '%2B')}?arch=" \
                f"{package.architecture}"
        made = {
            "SPDXID": identifier(package.name), "name": package.name,
            "versionInfo": package.version, "supplier": "Organization: Debian",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "sourceInfo": f"built from the Debian source package {package.source} "
                          f"{package.source_version}",
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": self.licences.of(package.name, package.copyright_file),
            "licenseComments": "what Debian's copyright file says of the whole source package",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": place}],
        }
        if package.homepage:
            made["homepage"] = package.homepage
        return made


def _relation(one, kind, other, comment):
    made = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
    if comment:
        made["comment"] = comment
    return made


def main(build, output):
    bill = Bill(Contents(build))
    document = bill.document()
    Path(output).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    kinds = [each["relationshipType"] for each in document["relationships"]]
    print(f"{output}: {len(document['packages'])} packages: {kinds.count('CONTAINS')} compiled in, "
          f"{kinds.count('STATIC_LINK')} linked statically, {kinds.count('DYNAMIC_LINK')} linked")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
