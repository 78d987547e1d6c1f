"""The part of JSON Schema that our OpenAPI document uses; another word in a schema is an error."""

import re

KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "pattern",
         "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "nullable",
         "format", "default", "description", "$ref", "oneOf", "discriminator"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
         "number": (int, float)}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def faults(value, schema, document, path="$"):
    """What is wrong with the value; none: an empty list."""
    assert set(schema) <= KNOWN, f"{path}: unknown words {set(schema) - KNOWN}"
    if "$ref" in schema:
        return faults(value, resolve(schema, document), document, path)
    if "oneOf" in schema:
        return _choice_faults(value, schema, document, path)
    if value is None and schema.get("nullable"):
        return []
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return [f"{path}: {value!r} is no {schema['type']}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is none of {schema['enum']}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{path}: {value!r} does not fit {schema['pattern']}")
    if schema.get("format") == "date-time" and not TIME.fullmatch(value):
        found.append(f"{path}: {value!r} is no time")
    if kind is dict:
        found += _object_faults(value, schema, document, path)
    if kind is list and "items" in schema:
        for index, item in enumerate(value):
            found += faults(item, schema["items"], document, f"{path}[{index}]")
    return found


def _choice_faults(value, schema, document, path):
    """By the discriminator, if there is one: what another kind would have said helps nobody."""
    if "discriminator" in schema:
        name = schema["discriminator"]["propertyName"]
        known = schema["discriminator"]["mapping"]
        kind = value.get(name) if isinstance(value, dict) else None
        if kind not in known:
            return [f"{path}: {name} is {kind!r}, none of {sorted(known)}"]
        return faults(value, {"$ref": known[kind]}, document, path)
    tried = [faults(value, one, document, path) for one in schema["oneOf"]]
    return [] if [] in tried else tried[0]


def closed(schema):
    """The schema, with every object that does not allow further members closed: a document of which
    members may be added later is one, and what a server of this version says is another."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(one) for name, one in schema.items()}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def _object_faults(value, schema, document, path):
    found = [f"{path}: no {name}" for name in schema.get("required", []) if name not in value]
    known = schema.get("properties", {})
    more = schema.get("additionalProperties", True)
    for name, member in value.items():
        if name in known:
            found += faults(member, known[name], document, f"{path}.{name}")
        elif more is False:
            found.append(f"{path}: {name} is not in the document")
        elif isinstance(more, dict):
            found += faults(member, more, document, f"{path}.{name}")
    return found


def resolve(node, document):
    """Follows a $ref within the document."""
    if "$ref" not in node:
        return node
    target = document
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return target
