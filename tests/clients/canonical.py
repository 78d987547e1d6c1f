"""RFC 8785 and JSON Pointers, as docs/protocol/identity.md has them."""

import json
import re


class NoIJson(Exception):
    """The text has no canonical form."""


def _number(text):
    digits = re.sub(r"[eE].*", "", text).replace("-", "").replace(".", "").strip("0")
    value = float(text)
    if len(digits) > 17 or value in (float("inf"), float("-inf")):
        raise NoIJson(text)
    whole = not re.search(r"[.eE]", text) or value == int(value) and abs(value) < 1e21
    if whole and (abs(value) > 2 ** 53 or not re.search(r"[.eE]", text)
                  and abs(int(text)) > 2 ** 53):
        raise NoIJson(text)
    return value


def _unique(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise NoIJson("a member twice")
    return dict(pairs)


def _deep(value, left=512):
    if isinstance(value, (dict, list)):
        if not left:
            raise NoIJson("nesting")
        for part in value.values() if isinstance(value, dict) else value:
            _deep(part, left - 1)


def parsed(body):
    try:
        text = body.decode("utf-8")
        if text.startswith("\ufeff"):
            raise NoIJson("a mark of the byte order")
        value = json.loads(text, object_pairs_hook=_unique, parse_int=_number,
                           parse_float=_number, parse_constant=_number_word)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # lone surrogates have no bytes
        _deep(value)
        return value
    except (ValueError, RecursionError) as error:
        raise NoIJson(str(error)) from error


def _number_word(word):
    raise NoIJson(word)


def _ecmascript(value):
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0") or "0"
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        return sign + padded[:point] + ("." + padded[point:] if padded[point:] else "")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def written(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{written(name)}:{written(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, float):
        return _ecmascript(value)
    return json.dumps(value, ensure_ascii=False)


def _found(value, pointer):
    """The way to what the pointer finds, or None."""
    way = []
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            way.append(name)
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", name) \
                and int(name) < len(value):
            way.append(int(name))
        else:
            return None
        value = value[way[-1]]
    return way


def _at(value, way):
    for step in way:
        value = value[step]
    return value


def _without(value, ways, here=()):
    if here in ways:
        return None, True
    if isinstance(value, dict):
        kept = {name: _without(part, ways, (*here, name)) for name, part in value.items()}
        return {name: part for name, (part, gone) in kept.items() if not gone}, False
    if isinstance(value, list):
        kept = [_without(part, ways, (*here, at)) for at, part in enumerate(value)]
        return [part for part, gone in kept if not gone], False
    return value, False


def canonical(body, pick=(), omit=()):
    value = parsed(body)
    if pick:
        found = {pointer: _found(value, pointer) for pointer in pick}
        return written({pointer: _at(value, way) for pointer, way in found.items()
                        if way is not None}).encode()
    ways = {tuple(way) for pointer in omit if (way := _found(value, pointer)) is not None}
    value, gone = _without(value, ways)
    return b"" if gone else written(value).encode()
