"""tools/tidy.py finds each breach of the rules, in a tree made for it, and nothing else."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = 'constexpr auto one = problem_info{problem::in_progress, "in-progress", 409};\n'
LONG_FUNCTION = "int f() {\n" + "  g();\n" * 80 + "}\n"
LONG_PYTHON = "def f():\n" + "    g()\n" * 80


@pytest.fixture
def tree(tmp_path):
    """A small tree in which everything is right; gives a function that runs tidy over it."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools",
                    ignore=shutil.ignore_patterns("__pycache__", "mutants", "sbom", "site"))
    rules = tmp_path / "tools/tidy_rules.py"
    rules.write_text(rules.read_text() + "\nALLOWED = {}\n")
    put(tmp_path, "src/http/problem.cpp", CATALOGUE)
    put(tmp_path, "docs/problems/in-progress.md", "# in-progress\n| 409 |\n")
    put(tmp_path, "cmake/rooms.ini", (ROOT / "cmake/rooms.ini").read_text())
    put(tmp_path, "tests/CMakeLists.txt", "onceguard_room_tests(core onceguard::core)\n")
    put(tmp_path, "include/onceguard/one.hpp", "#pragma once\n#include <string>\n")
    return tmp_path


def put(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def tidy(root, *arguments):
    done = subprocess.run([sys.executable, str(root / "tools/tidy.py"), *arguments, str(root)],
                          capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_a_tree_that_is_right_has_no_findings(tree):
    assert tidy(tree) == (0, "tidy: nothing to say\n")


BREACHES = [
    ("docs/a.md", "[b](b.md)\n", "the link leads nowhere: b.md"),
    ("docs/a.md", "# A title\n[b](#a-tilte)\n", "no heading has this anchor: #a-tilte"),
    ("docs/a.md", "[b](problems/in-progress.md#why)\n", "no heading has this anchor"),
    ("docs/a.md", "[b](/docs/a.md)\n", "the link is not relative"),
    ("src/core/a.cpp", "// See docs/nothing.md.\n", "there is no docs/nothing.md"),
    ("src/core/a.cpp", '#include "engine/claim_attempt.hpp"\n', "core may not include engine"),
    ("src/store/memory/a.cpp", '#include "store/sqlite/b.hpp"\n', "may not include sqlite"),
    ("src/store/tiered/a.cpp", '#include "store/redis/b.hpp"\n', "may not include redis"),
    ("src/store/a.cpp", '#include "store/redis/b.hpp"\n', "store may not include redis"),
    ("src/gateway/a.cpp", '#include "reconcile/query/b.hpp"\n', "may not include query"),
    ("src/engine/a.cpp", '#include "nowhere/b.hpp"\n', "is in no room"),
    ("src/nowhere/a.cpp", "int a;\n", "lies in no room"),
    ("include/onceguard/a.hpp", '#include "base/clock.hpp"\n', "public headers only"),
    ("src/gateway/a.cpp", "#include <sqlite3.h>\n", "<sqlite3.h> is not for the room gateway"),
    ("src/http/a.cpp", "#include <boost/asio/post.hpp>\n", "is not for the room http"),
    ("src/core/a.cpp", "int told_twice;\n", "not told but reported"),
    ("src/core/a.cpp", "int f(const key& of);\n", "of is no noun"),
    ("src/core/a.cpp", "void f() { const auto what = g(); }\n", "what is no noun"),
    ("src/core/a.cpp", "void f() {\n  int on = 1;\n}\n", "on is no noun"),
    ("src/core/a.cpp", "struct s {\n  store& in;\n};\n", "in is no noun"),
    ("src/core/a.cpp", "class s {\n  store& on_;\n};\n", "on_ is no noun"),
    ("src/core/a.cpp", "void f() { for (const auto& [key, of] : g()) {} }\n", "of is no noun"),
    ("src/core/a.cpp", "int place_of_it;\n", "place_of_it: not place_of_it but slot"),
    ("src/core/a.cpp", "int own_server;\n", "not own_server but caller's"),
    ("src/core/a.cpp", "int time_of_look_;\n", "not time_of_look_ but poll"),
    ("src/core/a.cpp", "int did_not;\n", "not did_not but done"),
    ("src/core/a.cpp", "int outcome_desk;\n", "not outcome_desk but outcome_query"),
    ("src/core/a.cpp", "int flood_gate_count;\n", "not flood_gate_count but outcome_query"),
    ("src/core/a.cpp", "int link_count;\n", "not link_count but connection"),
    ("tests/core/a.py", "told = 1\n", "not told but reported"),
    ("tests/core/b.hpp", "int own_server;\n", "own_server: not own_server"),
    ("src/core/b.cpp", "int a;  // of the ledger\n", "ledger: metadata"),
    ("tests/core/b.py", "a = 1  # nobody heard it\n", "heard: answered"),
    ("tests/core/c.py", "def f(on):\n    pass\n", "on is no noun"),
    ("src/core/a.lua", "local nonce = 1\n", "nonce: not nonce but claim_id"),
    ("src/core/b.lua", "-- nobody heard it\n", "heard: answered"),
    ("src/core/a.sql", "SELECT told FROM a;\n", "told: not told but reported"),
    ("src/core/b.sql", "-- nobody heard it\n", "heard: answered"),
    ("docs/internals/a.md", "see `src/nowhere/b.hpp`\n", "there is no src/nowhere/b.hpp"),
    ("src/core/a.cpp", "// " + "x" * 98 + "\n", "101 columns"),
    ("src/core/a.cpp", "int a; \n", "white space at the end"),
    ("src/core/a.cpp", "int a;\n" * 401, "401 lines"),
    ("src/core/a.cpp", LONG_FUNCTION, "f has 82 lines"),
    ("src/core/a.hpp", "struct s {\n  " + LONG_FUNCTION + "};\n", "f has 82 lines"),
    ("src/core/a.cpp", "namespace a {\ns::s() : b_{1}, c_(2) {\n" + "  g();\n" * 80 + "}\n}\n",
     "s::s has 82 lines"),
    ("tests/core/a.py", LONG_PYTHON, "f has 81 lines"),
    ("tests/core/a.hpp", "std::this_thread::sleep_for(x);\n", "waits for a condition"),
    ("tests/core/a.py", "time.sleep(1)\n", "waits for a condition"),
    ("src/core/a.cpp", "std::this_thread::sleep_for(x);\n", "wait on a timer"),
    ("src/core/a.cpp", "auto t = std::chrono::steady_clock::now();\n", "base::clock"),
    ("src/core/a.cpp", "std::random_device dice;\n", "base::random_bytes"),
    ("src/engine/a.cpp", "co_await store.claim({a, b});\n", "gcc 12"),
    ("src/engine/a.cpp", "co_await take(request{k, s});\n", "gcc 12"),
    ("src/engine/a.cpp", "co_await take(a, [v] { return v; });\n", "gcc 12"),
    ("src/engine/a.cpp", "co_await take(a, [this](int b) { return b; });\n", "gcc 12"),
    ("src/engine/a.cpp", "auto a = b ? co_await c() : d();\n", "write an if"),
    ("src/engine/a.cpp", "if (!co_await f(std::move(a))) return;\n", "name the result"),
    ("src/engine/a.cpp", "if (auto a = co_await f().g(b, std::move(c))) d();\n", "name the result"),
    ("src/engine/a.cpp", "co_spawn(io, run(), asio::detached);\n", "completion handler"),
    ("src/core/a.cpp", "// TODO more\n", "do it now"),
    ("docs/a.md", "FIXME\n", "do it now"),
    ("src/core/a.cpp", "class lease_manager {};\n", "the word says nothing"),
    ("src/core/string_utils.hpp", "#pragma once\n", "name the file after"),
    ("src/core/a.cpp", "std::cerr << 1;\n", "base::log"),
    ("tests/core/a.hpp", "GTEST_SKIP();\n", "proves nothing"),
    ("docs/a.md", "[b](b.md)\n", "leads nowhere: b.md"),
    ("docs/a.md", "/" + "home/somebody/\n", "paths of one machine"),
    ("docs/problems/in-progress.md", "# in-progress\n| 503 |\n", "does not say status 409"),
    ("docs/problems/stray.md", "# stray\n", "no problem type of that name"),
    ("tests/elsewhere/a_test.cpp", "int a;\n", "is in no target"),
    ("include/onceguard/a.hpp", "#pragma once\nstd::string a();\n", "does not compile alone"),
]


@pytest.mark.parametrize("path,text,reported", BREACHES, ids=[b[2] for b in BREACHES])
def test_each_breach_is_reported_with_its_position(tree, path, text, reported):
    put(tree, path, text)
    # Compiling the headers takes a while: only where it is about them.
    code, output = tidy(tree, *([] if "compile" in reported else ["--no-headers"]))
    assert code == 1
    assert f"{path}:" in output
    assert reported in output
    assert "tidy: 1 findings" in output


@pytest.mark.parametrize("source", ["lease", "lease_settle", "settle"])
def test_a_class_is_defined_in_files_that_begin_with_the_name_of_its_header(tree, source):
    put(tree, "src/core/lease.hpp", "class lease final {\n  void end();\n};\n")
    put(tree, f"src/core/{source}.cpp", "int f();\n\nvoid lease::end() {}\n")
    _, output = tidy(tree, "--no-headers")
    wrong = "src/core/settle.cpp:3: lease stands in lease.hpp: define it in lease*.cpp\n"
    assert output == (f"{wrong}tidy: 1 findings\n" if source == "settle"
                      else "tidy: nothing to say\n")


def test_a_problem_type_needs_a_page(tree):
    (tree / "docs/problems/in-progress.md").unlink()
    assert "this problem type has no page" in tidy(tree)[1]


@pytest.mark.parametrize("path,text", [
    ("src/engine/a.cpp", "auto r = co_await store.claim(std::move(batch), timeout_);\n"),
    ("src/engine/a.cpp", "while (co_await next()) { f(a); }\n"),
    ("src/engine/a.cpp", "if (a(b)) co_return co_await f(std::move(c));\n"),
    ("src/engine/a.cpp", "// co_await take({a});\nauto s = \"co_await take({a})\";\n"),
    ("src/core/a.cpp", "const auto big = 1'000'000;\nchar c = '{';\nint f() { return 1; }\n"),
    ("src/core/a.cpp", "const table t{\n" + "  {1, f(2)},\n" * 80 + "};\n"),
    ("src/base/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("src/core/a.cpp", "// the steady_clock::now of old\n"),
    ("src/core/a.cpp", "optional<s> a(std::in_place, b);\nint in_doubt = to(of(at));\n"),
    ("tests/core/a.hpp", "int own;\nvoid a_gateway_did_not_look_at_it();\n"),
    ("tests/core/a.py", "# of the place\nspoken = 'told'\nlink = '# told'\n"),
    ("src/core/a.lua", "local a = 'told -- told'  -- of the place\n"),
    ("docs/a.md", "# A `b`: c, d\n# A\n# A\n[b](#a-b-c-d) [b](#a-1) `[b](c.md)`\n"),
    ("docs/a.md", "```\n# no heading\n[b](c.md)\n```\n"),
    ("src/core/a.sql", "SELECT 'told -- told' AS a;  -- of the place\n"),
])
def test_allowed_code_is_not_reported(tree, path, text):
    put(tree, path, text)
    assert tidy(tree, "--no-headers") == (0, "tidy: nothing to say\n")


EVENTS = 'EVENT(probed, info, once, "record", "asked")\n'


def test_what_is_logged_stands_in_the_table(tree):
    put(tree, "src/base/log_events.inc", EVENTS)
    assert "the event probed is never logged" in tidy(tree, "--no-headers")[1]
    put(tree, "src/engine/a.cpp", 'void f() { base::log(base::event::probed, {{"record", 1}}); }\n')
    assert tidy(tree, "--no-headers")[0] == 0
    put(tree, "src/engine/a.cpp", 'void f() { base::log(base::event::probed, {{"key", 1}}); }\n')
    assert "the event probed has no field key" in tidy(tree, "--no-headers")[1]


def test_the_picture_is_that_of_the_rooms(tree):
    page = "<!-- rooms: begin -->\nold\n<!-- rooms: end -->\n"
    put(tree, "docs/internals/architecture.md", page)
    assert "tools/rooms.py --write" in tidy(tree, "--no-headers")[1]
    subprocess.run([sys.executable, str(tree / "tools/rooms.py"), "--write"], check=True)
    assert tidy(tree, "--no-headers")[0] == 0


def test_a_room_may_use_lower_rooms(tree):
    rooms = tree / "cmake/rooms.ini"
    rooms.write_text(rooms.read_text().replace("uses = base json", "uses = base json engine"))
    done = subprocess.run([sys.executable, str(tree / "tools/tidy.py"), str(tree)],
                          capture_output=True, text=True, check=False)
    assert "core uses engine, which does not stand before it" in done.stderr


def test_an_exception_excuses_and_must_be_needed(tree):
    rules = tree / "tools/tidy_rules.py"
    rules.write_text(rules.read_text() + '\nALLOWED = {"file": {"src/core/a.cpp": "a table"}}\n')
    put(tree, "src/core/a.cpp", "int a;\n" * 401)
    assert tidy(tree, "--no-headers")[0] == 0
    put(tree, "src/core/a.cpp", "int a;\n")
    assert "is needed no more" in tidy(tree, "--no-headers")[1]
