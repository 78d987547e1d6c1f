"""What people paste into the explain form, read by the page's own module."""

import json
import subprocess

import pytest

from page.browser import HERE

MODULE = HERE.parents[1] / "web/explain/request_text.js"
READ = f"""
import {{ readFileSync }} from "node:fs";
const {{ readRequest }} = await import({json.dumps("data:text/javascript,")} + encodeURIComponent(
  readFileSync({json.dumps(str(MODULE))}, "utf8")));
const out = JSON.parse(readFileSync(0, "utf8")).map((text) => {{
  try {{ return readRequest(text); }} catch (failure) {{
    if (failure.constructor.name !== "NoRequest") throw failure;
    return failure.message;
  }}
}});
console.log(JSON.stringify(out));
"""


def read(*texts):
    done = subprocess.run(["node", "--input-type=module", "-e", READ], input=json.dumps(texts),
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FORM = ["Content-Type", "application/x-www-form-urlencoded"]


@pytest.mark.parametrize("text, method, url, headers, body", [
    ("curl shop/x", "GET", "http://shop/x", [], None),
    ("$ curl -X POST 'https://shop/x?a=1' -H 'Idempotency-Key: \"k\"' \\\n  -d a=1 -d b=2", "POST",
     "https://shop/x?a=1", [["Idempotency-Key", '"k"'], FORM], "a=1&b=2"),
    ("curl -XPUT --url=/x --json '{\"a\":\"it'\\''s\"}'", "PUT", "/x",
     [["Content-Type", "application/json"]], '{"a":"it\'s"}'),
    ('curl -sS -o /dev/null -u "alice:pa$s\\"" -H"A: b c" /x', "GET", "/x",
     [["Authorization", "Basic YWxpY2U6cGEkcyI="], ["A", "b c"]], None),
    ("curl /x --data-raw $'a\\nb' -H 'content-type: text/plain'", "POST", "/x",
     [["content-type", "text/plain"]], "a\nb"),
    ("curl /x --data-raw @home", "POST", "/x", [FORM], "@home"),
    ("POST /x HTTP/1.1\r\nHost: shop\r\nA: b:c\r\n\r\nline\r\n\r\nend", "POST", "/x",
     [["Host", "shop"], ["A", "b:c"]], "line\n\nend"),
    ("PUT /x\nA: b", "PUT", "/x", [["A", "b"]], None),
])
def test_a_request_is_read(text, method, url, headers, body):
    wanted = {"method": method, "url": url, "headers": headers}
    assert read(text) == [wanted if body is None else {**wanted, "body": body}]


def test_what_is_no_request_is_said():
    assert read("curl 'x", "curl -H A /x", "curl /x -d", "curl /x -d @f", "curl -X POST", "x", " ",
                "POST /x\nno colon") == [
        "request_quote_open", "request_header", "request_argument", "request_file", "request_url",
        "request_line", "request_line", "request_header"]


def test_a_long_text_is_read_quickly():
    text = "curl /x -d '" + "a" * 900_000
    assert read(text, text + "'")[0] == "request_quote_open"
