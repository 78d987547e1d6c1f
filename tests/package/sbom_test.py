"""The bill of materials: SPDX 2.3, and true of the program that lies beside it."""

import json
import os
import pathlib
import re
import subprocess

import license_expression
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/sbom/spdx.py"
ID = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
# What the specification of SPDX 2.3 requires of each.
DOCUMENT = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"}
PACKAGE = {"SPDXID", "name", "downloadLocation"}
KINDS = {"DESCRIBES", "CONTAINS", "STATIC_LINK", "DYNAMIC_LINK", "DEPENDS_ON",
         "BUILD_DEPENDENCY_OF", "BUILD_TOOL_OF"}


def make(build, output, **environment):
    done = subprocess.run(["/usr/bin/python3", TOOL, build, output], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text())


@pytest.fixture(scope="module")
def bill(onceguard, tmp_path_factory):
    return make(onceguard.parent, tmp_path_factory.mktemp("sbom") / "bill.json")


def named(bill):
    return {each["name"]: each for each in bill["packages"]}


def related(bill, kind):
    names = {each["SPDXID"]: each["name"] for each in bill["packages"]}
    return {names[each["relatedSpdxElement"]] for each in bill["relationships"]
            if each["relationshipType"] == kind and each["spdxElementId"] == "SPDXRef-onceguard"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_document_has_what_the_specification_requires(bill):
    assert DOCUMENT <= bill.keys()
    assert (bill["spdxVersion"], bill["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    assert bill["SPDXID"] == "SPDXRef-DOCUMENT"
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["documentNamespace"])
    made = bill["creationInfo"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["created"])
    assert all(re.match(r"(Tool|Organization|Person): \S", each) for each in made["creators"])


def test_each_package_has_what_the_specification_requires(bill):
    ids = [each["SPDXID"] for each in bill["packages"]]
    assert len(ids) == len(set(ids)) > 20
    for each in bill["packages"]:
        assert PACKAGE <= each.keys() and ID.fullmatch(each["SPDXID"])
        assert each["filesAnalyzed"] is False and "packageVerificationCode" not in each
        for reference in each.get("externalRefs", []):
            assert reference["referenceCategory"] == "PACKAGE-MANAGER"
            assert re.fullmatch(r"pkg:deb/debian/[\w.%-]+@[\w.%~-]+\?arch=\w+",
                                reference["referenceLocator"])


def test_each_relation_joins_what_is_there_and_nothing_stands_alone(bill):
    ids = {each["SPDXID"] for each in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    joined = set()
    for each in bill["relationships"]:
        ends = {each["spdxElementId"], each["relatedSpdxElement"]}
        assert ends <= ids and each["relationshipType"] in KINDS
        joined |= ends
    assert joined == ids


def test_each_licence_is_an_expression_of_spdx(bill):
    spdx = license_expression.get_spdx_licensing()
    texts = {each["licenseId"]: each["extractedText"]
             for each in bill["hasExtractedLicensingInfos"]}
    used = set()
    for each in bill["packages"]:
        for symbol in spdx.license_symbols(each["licenseDeclared"]):
            if symbol.key.startswith("LicenseRef-"):
                assert texts[symbol.key].strip(), symbol.key
                used.add(symbol.key)
            elif symbol.key != "NOASSERTION":
                assert symbol.key in spdx.known_symbols, (each["name"], symbol.key)
    assert used == set(texts)
    assert named(bill)["libcli11-dev"]["licenseDeclared"] == "BSD-3-Clause"
    assert not [each["name"] for each in bill["packages"]
                if each["licenseDeclared"] == "NOASSERTION"]


def test_what_the_program_is_linked_with_is_there_with_its_version(bill, onceguard):
    needed = re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", str(onceguard)))
    where = dict(re.findall(r"(\S+) => (\S+)", output_of("ldd", str(onceguard))))
    assert "libsqlite3.so.0" in needed
    linked = related(bill, "DYNAMIC_LINK")
    for library in set(needed) & where.keys():
        file = os.path.realpath(where[library])
        owner = subprocess.run(["dpkg-query", "-S", file, file.removeprefix("/usr")],
                               capture_output=True, text=True, check=False).stdout.split(":")[0]
        assert owner in linked, library
        version = output_of("dpkg-query", "-W", "-f", "${Version}\n", owner).split()[0]
        assert named(bill)[owner]["versionInfo"] == version


def test_what_is_compiled_in_or_loaded_later_is_there(bill, onceguard):
    assert {"libboost1.81-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libxxhash-dev",
            "node-llhttp"} <= related(bill, "CONTAINS")
    assert {"libpq5", "librdkafka1", "libcurl4"} <= related(bill, "DYNAMIC_LINK")
    assert not related(bill, "CONTAINS") & related(bill, "DYNAMIC_LINK")
    if (onceguard.parent / "generated/late_functions.c").exists():
        assert related(bill, "STATIC_LINK") == {"libssl-dev"}
    # What only the tests use is no part of the program.
    assert not {"libgtest-dev", "librapidcheck-dev", "libpqxx-dev"} & named(bill).keys()


def test_the_same_build_has_the_same_bill(onceguard, tmp_path):
    for name in ("one", "two"):
        make(onceguard.parent, tmp_path / name, SOURCE_DATE_EPOCH="1700000000")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert '"created": "2023-11-14T22:13:20Z"' in (tmp_path / "one").read_text()


def test_a_copyright_file_is_read_as_debian_means_it(tmp_path):
    (tmp_path / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
        "Files: *\nCopyright: A\nLicense: GPL-2+ or Expat, and BSD-3-clause\n\n"
        "Files: b\nCopyright: B\nLicense: Expat\n\n"
        "Files: c\nCopyright: C\nLicense: rare\n A rare one.\n .\n Its end.\n")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); from licences import Licences;"
            "l = Licences(); print(l.of('p', sys.argv[2])); print(l.texts)")
    said = output_of("/usr/bin/python3", "-c", code, str(TOOL.parent),
                     str(tmp_path / "copyright")).splitlines()
    assert said[0] == ("((GPL-2.0-or-later OR MIT) AND BSD-3-Clause) "
                       "AND LicenseRef-p-rare AND MIT")
    assert "A rare one.\\n\\nIts end." in said[1]
