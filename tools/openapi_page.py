#!/usr/bin/env python3
"""The reference page of the decision service's protocol, from its OpenAPI document.

Usage: openapi_page.py            prints docs/protocol/reference.md
       openapi_page.py --write    writes it
"""
import json
import sys
from pathlib import Path

DOCUMENT = "src/serve/openapi.json"
PAGE = "docs/protocol/reference.md"

INTRODUCTION = f"""# Reference of the decision service's protocol

This page is made from `{DOCUMENT}` by `tools/openapi_page.py --write`; the service gives the same
document at `/v1/openapi.json`. [The protocol](../protocol.md) says what it all means.
"""


def name_of(reference):
    return reference.rsplit("/", 1)[1]


def link_to(name):
    return f"[{name}](#{name.lower()})"


def kind_of(schema):
    """What a value is, in words."""
    if "$ref" in schema:
        return link_to(name_of(schema["$ref"]))
    if "oneOf" in schema:
        return " or ".join(kind_of(one) for one in schema["oneOf"])
    if schema["type"] == "array":
        return f"array of {kind_of(schema['items'])}"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    return schema["type"]


def members(schema):
    required = schema.get("required", [])
    yield "| member | is | |"
    yield "| --- | --- | --- |"
    for name, member in schema["properties"].items():
        text = member.get("description", "")
        if "default" in member:
            text += f" Without it `{json.dumps(member['default']).strip(chr(34))}`."
        mark = "**" if name in required else ""
        yield f"| {mark}`{name}`{mark} | {kind_of(member)} | {text} |"


def paragraphs_of(name, schema):
    yield f"### {name}"
    yield schema.get("description", "")
    if schema.get("properties"):
        yield "\n".join(members(schema))
    elif "oneOf" in schema:
        yield "One of " + ", ".join(kind_of(one) for one in schema["oneOf"]) + "."
    elif schema["type"] == "array":
        yield f"An {kind_of(schema)}."


def response_of(document, response):
    if "$ref" in response:
        response = document["components"]["responses"][name_of(response["$ref"])]
    kinds = [kind_of(one["schema"]) for kind, one in response["content"].items()
             if kind.endswith("json")]
    return ", ".join(kinds), response["description"]


def operation(document, path, method, what):
    yield f"### `{method.upper()} {path}`"
    yield what["description"]
    if "requestBody" in what:
        body = what["requestBody"]
        form = kind_of(body["content"]["application/json"]["schema"])
        forms = " and ".join(f"`{kind}`" for kind in body["content"])
        may = "" if body["required"] else " It may be empty."
        yield f"The body is a {form}, as {forms}.{may}"
    rows = ["| status | body | |", "| --- | --- | --- |"]
    for status, response in what["responses"].items():
        rows.append(f"| {status} | {' | '.join(response_of(document, response))} |")
    yield "\n".join(rows)


def page(root):
    document = json.loads((Path(root) / DOCUMENT).read_text(encoding="utf-8"))
    parts = [INTRODUCTION.strip(), "## Calls"]
    for path, methods in document["paths"].items():
        for method, what in methods.items():
            parts += operation(document, path, method, what)
    parts.append("## Objects\nA member in bold is always there.")
    for name, schema in document["components"]["schemas"].items():
        parts += paragraphs_of(name, schema)
    return "\n\n".join(parts) + "\n"


def main(arguments):
    root = Path(__file__).resolve().parent.parent
    if "--write" in arguments:
        (root / PAGE).parent.mkdir(exist_ok=True)
        (root / PAGE).write_text(page(root), encoding="utf-8")
    else:
        print(page(root), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
