"""What does not fit a call of the library is refused with a sentence of ours, and with no other."""

import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAYS = re.compile(r"^ *// says: (.*)$", re.MULTILINE)


def errors_of(source):
    """(line of the call, text) of each error: gcc names the call before the error in a header."""
    done = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{ROOT}/include",
         "-I/usr/include/postgresql", "-DRESTINIO_USE_BOOST_ASIO", str(source)],
        capture_output=True, text=True, timeout=600, check=False, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode != 0
    found, call = [], None
    for line in done.stderr.splitlines():
        if required := re.match(rf"{re.escape(str(source))}:(\d+):\d+:\s+required from", line):
            call = int(required[1])
        if ": error: " in line:
            found.append((call, line.partition(": error: ")[2]))
            call = None
    return found


@pytest.mark.parametrize("name", ["library", "handlers", "adapters", "restinio"])
def test_what_does_not_fit_gets_one_sentence(name):
    source = HERE / "refused" / f"{name}.cpp"
    text = source.read_text(encoding="utf-8")
    wanted = [(text[:said.start()].count("\n") + 1, said[1]) for said in SAYS.finditer(text)]
    found = errors_of(source)
    ends = [line for line, _ in wanted[1:]] + [text.count("\n") + 1]
    for (begin, words), end in zip(wanted, ends):
        said = [error for call, error in found if call is not None and begin < call < end]
        assert len(said) == 1, (begin, words, found)
        assert said[0].startswith("static assertion failed: onceguard: ") and words in said[0]
    assert len(found) == len(wanted)
