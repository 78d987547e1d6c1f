"""The library as other projects get it: installed, by pkg-config, or as a part of their build."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SETTINGS = {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O0"}  # quick to make
# What another run of these tests has compiled is not compiled again. The folders' names differ.
os.environ["CCACHE_BASEDIR"] = "/"
os.environ["CMAKE_CXX_COMPILER_LAUNCHER"] = shutil.which("ccache") or ""
COMPILER = [*filter(None, [shutil.which("ccache")]), "c++", "-std=c++20"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
# What a component must not need is not to be had.
WITHOUT_OTHERS = {f"CMAKE_DISABLE_FIND_PACKAGE_{name}": "ON"
                  for name in ("PostgreSQL", "Hiredis", "CLI11", "fmt", "nlohmann_json")}


def run(*words, **how):
    """The finished process; its output is in the report when it fails."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600,
                          check=False, **how)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done


def linked(source, program, flags, component, *words):
    """The linker's end. Compiled apart, as no linked program is taken from what others made."""
    run(*COMPILER, *words, "-c", source, "-o", f"{program}.o", *flags("--cflags", component))
    return subprocess.run(
        ["c++", *(word for word in words if word.startswith(("-shared", "-Wl,"))), f"{program}.o",
         "-o", str(program), *flags("--libs", component)],
        capture_output=True, text=True, timeout=600, check=False)


def assert_linked(*words):
    done = linked(*words)
    assert done.returncode == 0, done.stderr


def configure(source, build, **settings):
    return subprocess.run(
        ["cmake", "--no-warn-unused-cli", "-G", "Ninja", "-S", str(source), "-B", str(build),
         *(f"-D{name}={value}" for name, value in {**SETTINGS, **settings}.items())],
        capture_output=True, text=True, timeout=600, check=False)


def built(source, build, *targets, **settings):
    done = configure(source, build, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    run("cmake", "--build", build, "--target", *targets)
    return done


def needed(binary):
    """The shared libraries that a binary asks for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", binary).stdout)


def assert_charges_once(program, folder):
    said = [run(program, folder / "shop.db", "order-17", "4200").stdout.strip() for _ in range(2)]
    assert said == ["charge 1", "charge 1 (replayed)"]


def assert_sqlite_alone(program):
    libraries = needed(program)
    assert any(name.startswith("libsqlite3") for name in libraries)
    assert not [name for name in libraries if re.match(r"lib(pq|hiredis|ssl)\b", name)], libraries


@pytest.fixture(scope="module")
def installed(onceguard, tmp_path_factory):
    """The folder into which the library of the build under test is installed."""
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", onceguard.parent, "--prefix", folder,
        "--component", "onceguard_library")
    return folder


@pytest.fixture(scope="module")
def flags(installed):
    """Flags of pkg-config for a component."""
    [folder] = installed.rglob("pkgconfig")

    def of(*words):
        return run("pkg-config", *words, env={**os.environ, "PKG_CONFIG_PATH": str(folder)}) \
            .stdout.split()
    return of


@pytest.fixture(scope="module")
def shop(installed, tmp_path_factory):
    """The build folder of a project that found the installed library."""
    folder = tmp_path_factory.mktemp("shop")
    built(HERE / "installed", folder, "charge", CMAKE_PREFIX_PATH=installed,
          CMAKE_EXPORT_COMPILE_COMMANDS="ON", **WITHOUT_OTHERS)
    return folder


def test_a_project_finds_the_installed_library_and_needs_no_other_database(shop, tmp_path):
    assert_sqlite_alone(shop / "charge")
    assert_charges_once(shop / "charge", tmp_path)


def test_the_installed_library_adds_only_its_headers_and_the_language_to_a_command_line(
        installed, shop):
    [command] = json.loads((shop / "compile_commands.json").read_text())
    flags = set(command["command"].split()[1:])
    assert {f for f in flags if f.startswith(("-D", "-W", "-f", "-I"))} == set()
    assert "-std=gnu++20" in flags
    assert str(installed / "include") in flags


def test_a_project_uses_the_installed_library_by_pkg_config(installed, flags, tmp_path):
    program = tmp_path / "charge"
    assert_linked(HERE / "charge.cpp", program, flags, "onceguard-sqlite", *STRICT)
    assert_sqlite_alone(program)
    assert_charges_once(program, tmp_path)
    assert flags("--modversion", "onceguard-sqlite") == [version()]


@pytest.mark.parametrize("macro", ["_GLIBCXX_DEBUG", "BOOST_ASIO_DISABLE_THREADS",
                                   "BOOST_ASIO_ENABLE_HANDLER_TRACKING"])
def test_a_program_of_another_configuration_does_not_link(flags, tmp_path, macro):
    done = linked(HERE / "charge.cpp", tmp_path / "charge", flags, "onceguard-sqlite",
                  f"-D{macro}")
    assert done.returncode != 0
    assert f"compiled_with_{macro.removeprefix('_')}" in done.stderr


def test_a_project_reads_routes_without_a_store_or_a_server(flags, tmp_path):
    program = tmp_path / "routes"
    assert_linked(HERE / "routes.cpp", program, flags, "onceguard-http_config", *STRICT)
    assert not [name for name in needed(program)
                if re.match(r"lib(pq|hiredis|ssl|sqlite3|curl)\b", name)]
    file = tmp_path / "routes.toml"
    file.write_text('[[route]]\npath = "/payments"\nrequired = true\n')
    assert run(program, file).stdout == "/payments required\n/ optional\n"
    file.write_text('[[route]]\nupstream = "payments"\n')
    refused = subprocess.run([program, file], capture_output=True, text=True, timeout=60,
                             check=False)
    assert refused.returncode == 1
    assert refused.stdout == \
        f"{file}:2:1: [[route]] upstream: is for the gateway, not for a service\n"


def test_the_library_disappears_inside_of_a_shared_library(flags, tmp_path):
    source = tmp_path / "plugin.cpp"
    source.write_text('#include <onceguard/sqlite.hpp>\n'
                      'extern "C" bool plugin_start(sqlite3* shop) {\n'
                      '  return onceguard::sqlite::prepare(shop).has_value();\n}\n')
    plugin = tmp_path / "libplugin.so"
    assert_linked(source, plugin, flags, "onceguard-sqlite", "-shared", "-fPIC", "-O1",
                  "-Wl,--no-undefined")
    exported = run("nm", "-DC", "--defined-only", plugin).stdout
    assert "plugin_start" in exported
    assert "onceguard::sqlite::v1::prepare" not in exported
    assert "onceguard::core" not in exported


def test_headers_of_another_abi_do_not_link(installed, flags, tmp_path):
    shutil.copytree(installed / "include", tmp_path / "include")
    for header in (tmp_path / "include").rglob("*.hpp"):
        header.write_text(header.read_text().replace("inline namespace v1", "inline namespace v2"))
    # Its folder comes before that of the installed headers.
    done = linked(HERE / "charge.cpp", tmp_path / "charge", flags, "onceguard-sqlite",
                  f"-I{tmp_path}/include")
    assert done.returncode != 0
    assert "undefined reference to `onceguard::sqlite::v2::execute(" in done.stderr


def test_a_project_builds_the_library_as_a_part_of_itself(tmp_path):
    done = built(HERE / "fetched", tmp_path, "charge", ONCEGUARD_CHECKOUT=ROOT,
                 CMAKE_UNITY_BUILD="ON", CMAKE_UNITY_BUILD_BATCH_SIZE=20, **WITHOUT_OTHERS)
    assert "Warning" not in done.stderr
    assert_sqlite_alone(tmp_path / "charge")
    assert_charges_once(tmp_path / "charge", tmp_path)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    [charge] = [c["command"] for c in commands if "/charge.dir/" in c["command"]]
    assert str(ROOT / "src") not in charge
    assert {f for f in charge.split() if f.startswith(("-D", "-W", "-f"))} == \
        {"-Wall", "-Wextra", "-Werror"}
    assert (tmp_path / "settings.txt").read_text() == "Debug|||\n"
    targets = (tmp_path / "targets.txt").read_text().split(";")
    assert "onceguard_sqlite" in targets
    assert all(name.startswith("onceguard_") for name in targets)
    assert not {"onceguard_postgres", "onceguard_room_redis", "onceguard_room_cli"} & set(targets)


def test_an_adapter_brings_its_server_along(installed, flags, tmp_path):
    built(ROOT / "examples/restinio", tmp_path, "restinio_payments", CMAKE_PREFIX_PATH=installed)
    assert any("http_parser" in name for name in needed(tmp_path / "restinio_payments"))
    assert "-DRESTINIO_USE_BOOST_ASIO" in flags("--cflags", "onceguard-restinio")
    libraries = flags("--libs", "onceguard-restinio")
    assert {"-lonceguard_http", "-lhttp_parser", "-lfmt"} <= set(libraries)


@pytest.mark.parametrize("adapter,library,package", [
    ("httplib", "libcpp-httplib", "cpp-httplib"), ("pistache", "libpistache", "pistache")])
def test_an_adapter_takes_the_server_that_pkg_config_knows(installed, flags, tmp_path, adapter,
                                                           library, package):
    built(ROOT / "examples" / adapter, tmp_path, f"{adapter}_payments", CMAKE_PREFIX_PATH=installed)
    assert any(name.startswith(library) for name in needed(tmp_path / f"{adapter}_payments"))
    libraries = flags("--libs", f"onceguard-{adapter}")
    assert {"-lonceguard_http", f"-l{package}"} <= set(libraries)


def version():
    header = (ROOT / "include/onceguard/version.hpp").read_text()
    return re.search(r'version = "([\d.]+)"', header).group(1)


def test_the_version_is_the_same_everywhere(onceguard, installed):
    major, minor, patch = map(int, version().split("."))
    header = (installed / "include/onceguard/version.hpp").read_text()
    assert f"#define ONCEGUARD_VERSION {10000 * major + 100 * minor + patch}\n" in header
    assert run(onceguard, "--version").stdout.startswith(f"onceguard {version()} ")


PROBES = [
    ("find_package(onceguard 0.2 CONFIG REQUIRED COMPONENTS postgres http_config http)", {}, None),
    ("find_package(onceguard 0.2 CONFIG REQUIRED)", {}, None),
    ("find_package(onceguard 0.9 CONFIG REQUIRED)", {},
     r"compatible\s+with\s+requested\s+version"),
    ("find_package(onceguard CONFIG REQUIRED COMPONENTS mysql)", {},
     r"There\s+is\s+no\s+component\s+mysql"),
    ("find_package(onceguard CONFIG REQUIRED COMPONENTS postgres)",
     {"CMAKE_DISABLE_FIND_PACKAGE_PostgreSQL": "ON"},
     r"component\s+pq\s+needs\s+PostgreSQL::PostgreSQL,[\s\S]*component\s+postgres\s+needs\s+the\s+"
     r"component\s+pq"),
    ("find_package(onceguard CONFIG REQUIRED COMPONENTS restinio)",
     {"CMAKE_DISABLE_FIND_PACKAGE_restinio": "ON"},
     r"component\s+restinio\s+needs\s+restinio::restinio"),
    ("find_package(onceguard CONFIG REQUIRED COMPONENTS pistache)",
     {"PKG_CONFIG_EXECUTABLE": "/bin/false"},
     r"component\s+pistache\s+needs\s+onceguard::libpistache"),
    ("find_package(onceguard CONFIG REQUIRED COMPONENTS http sqlite)",
     {"CMAKE_DISABLE_FIND_PACKAGE_restinio": "ON", "PKG_CONFIG_EXECUTABLE": "/bin/false"},
     None),
]


@pytest.mark.parametrize("line,settings,complaint", PROBES)
def test_what_cannot_be_found_is_named(installed, tmp_path, line, settings, complaint):
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(shop CXX)\n{line}\n")
    done = configure(tmp_path, tmp_path / "build", CMAKE_PREFIX_PATH=installed, **settings)
    if complaint is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode != 0
        assert re.search(complaint, done.stderr), done.stderr


def test_the_lines_that_the_docs_show_are_those_that_are_tested():
    shown = re.findall(r"```cmake\n(.*?)```", (ROOT / "docs/library.md").read_text(), re.DOTALL)
    tested = "".join((HERE / name / "CMakeLists.txt").read_text()
                     for name in ("installed", "fetched")).replace(" SQLite::SQLite3)", ")")
    assert len(shown) == 2
    for line in "".join(shown).splitlines():
        assert f"{line}\n" in tested
