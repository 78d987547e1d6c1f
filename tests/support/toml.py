"""Writes the configuration file of a gateway."""

import json


def value_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(value_text(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {value_text(v)}' for k, v in value.items()) + " }"
    return json.dumps(value)


def toml_text(config):
    """`config`: tables as dicts, arrays of tables as lists of dicts."""
    lines = []
    for name, table in config.items():
        for entry in table if isinstance(table, list) else [table]:
            lines.append(f"[[{name}]]" if isinstance(table, list) else f"[{name}]")
            lines += [f"{key} = {value_text(value)}" for key, value in entry.items()]
            lines.append("")
    return "\n".join(lines)
