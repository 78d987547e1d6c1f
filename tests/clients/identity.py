"""Scope, key and fingerprint of an operation: a second implementation, from the text of
docs/protocol/identity.md. As a program it fills in what the vectors of a file come to."""

import base64
import ctypes
import gzip
import hashlib
import json
import pathlib
import re
import sys
import urllib.parse
import zlib

if not __package__:  # as a program
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from clients.canonical import NoIJson, canonical  # noqa: E402
from clients.field_names import (  # noqa: E402
    ACCOUNT, CALLER, HARMLESS, HARMLESS_BEGINS, HOP, OPERATION, TRIES, against_forgery, is_name_of,
    lower, marks_a_try, passes)

SCHEMES = "bearer basic token apikey".split()

xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh3.restype, xxh3.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)


def octets(text):
    """Texts of a message have a character for each byte."""
    return text.encode("latin-1") if isinstance(text, str) else text


def H(*parts):
    hashed = hashlib.sha256()
    for part in map(octets, parts):
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.digest()


def L(*parts):
    return b"".join(b"%d:%s" % (len(part), part) for part in map(octets, parts))


def fields_of(request, name):
    return [value.strip(" \t") for given, value in request["headers"]
            if given.lower() == name.lower()]


def field_of(request, name):
    return (fields_of(request, name) or [""])[0]


# ---- the key

def header_key(text):
    if not text.startswith('"'):
        return text
    return re.sub(r'\\(["\\])', r"\1", re.match(r'"((?:[^"\\]|\\["\\])*)"', text)[1])


def key_of(policy, request, body, content):
    for source in policy.get("key", ["Idempotency-Key"]):
        if source == "content":
            return "content-" + content().hex()
        if source.startswith("path:"):
            return request["target"].partition("?")[0].split("/")[int(source[5:])]
        if source.startswith("json:"):
            value = json.loads(body, parse_int=str)
            for name in source[5:].split("/")[1:]:
                value = value.get(name)
            if value is not None:
                return value
        elif fields_of(request, source):
            return header_key(field_of(request, source))
    raise AssertionError("no key")


# ---- the scope

def scope_of(rule, request):
    if isinstance(rule, list):
        found = [scope_of(one, request) for one in rule]
        return " + ".join(kind for kind, _ in found), L(*[part for pair in found for part in pair])
    source, _, name = rule.partition(":")
    shown = field_of(request, "Authorization")
    scheme, _, rest = shown.partition(" ")
    if source == "credential":
        if scheme.lower() in SCHEMES and rest.strip():
            return rule, shown
        if request.get("client_certificate"):
            return "certificate", request["client_certificate"]
        return "anonymous", ""
    if source == "header":
        return rule.lower(), field_of(request, name)
    if source == "cookie":
        pairs = [one.strip(" \t").partition("=") for one in field_of(request, "Cookie").split(";")]
        return rule, next(value for given, _, value in pairs if given == name)
    if source == "address":
        return rule, request["client_address"]
    if source == "auth-param":
        rule = rule.lower()
        given = dict(re.findall(r'([\w-]+)=("[^"]*"|[^,\s]+)', rest))
        return rule, L(scheme.lower(), *[given[one].strip('"') for one in name.split(",")])
    if source == "jwt":
        part = rest.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        value, issuer = claims[name], L(claims.get("iss", "").encode())
        return rule, b"number " * isinstance(value, int) + issuer + str(value).encode()
    return "none", ""


# ---- the fingerprint

def rule_of(policy):
    kind = policy.get("fingerprint", "exact")
    for word in ("pick", "omit"):
        if pointers := policy.get(f"fingerprint_{word}"):
            return f"json {word} " + " ".join(
                pointer.replace("%", "%25").replace(" ", "%20") for pointer in pointers)
    return kind


def listed(policy):
    return sorted({lower(one if one[0] == "-" else "+" + one)
                   for one in policy.get("fingerprint_headers", [])})


def head_of(policy, request):
    named = {one[1:]: one[0] for one in listed(policy)}
    counting = []
    for name, value in request["headers"]:
        usual = is_name_of(ACCOUNT, name) or is_name_of(OPERATION, name)
        if named.get(lower(name)) != "-" if usual else named.get(lower(name)) == "+":
            counting.append((lower(name), value.strip(" \t")))
    host = re.match(r"\[[^]]*\]|[^:]*", field_of(request, "Host"))[0]
    out = ["head", "" if named.get("host") == "-" else lower(host), str(len(counting))]
    for pair in sorted(counting, key=lambda pair: pair[0]):
        out += pair
    return out


def cut_multipart(content_type, body):
    """Type, parameters and pieces, or None."""
    kind, *parameters = re.split(r"(?=;)", content_type)
    kind = kind.strip(" \t").lower()
    boundary = [one for one in parameters if one[1:].strip().lower().startswith("boundary=")]
    if not kind.startswith("multipart/") or len(boundary) != 1:
        return None
    line = b"--" + boundary[0].split("=", 1)[1].strip(' \t"').encode()
    pieces, at, ended = [], 0, False
    delimiter = b"\r\n" + line
    if body.startswith(line):
        pieces, at = [b""], len(line)
    elif delimiter in body:
        at = body.index(delimiter)
        pieces, at = [body[:at]], at + len(delimiter)
    else:
        return None
    while not ended:
        ended = body.startswith(b"--", at)
        rest = re.compile(rb"[ \t]*(\r\n|\Z)").match(body, at + 2 * ended)
        if not rest:
            return None
        end = len(body) if ended else body.find(delimiter, rest.end())
        if end < 0:
            return None
        pieces.append(body[rest.end():end])
        at = end + len(delimiter)
    return kind, "".join(one for one in parameters if one not in boundary), pieces


def form_of(body):
    if re.search(rb"%(?![0-9A-Fa-f]{2})", body):
        return None
    pairs = [one.partition(b"=") for one in body.split(b"&") if one]
    return [(urllib.parse.unquote_to_bytes(name.replace(b"+", b" ")),
             urllib.parse.unquote_to_bytes(value.replace(b"+", b" "))) for name, _, value in pairs]


class Body:
    def __init__(self, policy, request, body, named=True):
        self.type, self.content = field_of(request, "Content-Type"), body
        self.rule = rule_of(policy)
        self.plain = self.type.partition(";")[0].strip(" \t").lower()
        self.policy, self.coding, self.canonical, self.parts = policy, "", None, None
        self.named = named
        if named:
            self._decode(field_of(request, "Content-Encoding"), body)
        if self.rule.startswith("json"):
            try:
                self.canonical = canonical(self.content, policy.get("fingerprint_pick", ()),
                                           policy.get("fingerprint_omit", ()))
            except NoIJson:
                pass
        if self.canonical is None:
            self.parts = cut_multipart(self.type, self.content)
        self.form = None
        if self.plain == "application/x-www-form-urlencoded":
            self.form = form_of(self.content)

    def _decode(self, coding, body):
        self.coding = "" if coding.lower() == "identity" else coding
        if coding.lower() in ("gzip", "x-gzip"):
            try:
                unpacked = gzip.decompress(body)
                if body and len(unpacked) <= 1 << 20:
                    self.content, self.coding = unpacked, ""
            except (OSError, EOFError, zlib.error):
                pass

    def hashed(self):
        if self.rule == "none":
            return ["none"]
        out = [self.coding] if self.named else []
        if self.canonical is not None:
            return [*out, "json", self.canonical]
        cut = [] if self.parts is None else [self.parts[1], str(len(self.parts[2])), *self.parts[2]]
        if self.rule == "form" and self.form is not None:
            flat = [part for pair in self.form for part in pair]
            return [*out, "form", "fields", self.type, str(len(self.form)), *flat]
        if self.rule == "form" and cut and self.parts[0] == "multipart/form-data":
            return [*out, "form", "parts", *cut]
        if cut and self.named:
            return [*out, "parts", self.parts[0], *cut]
        return [*out, "exact", self.type, self.content]

    def work(self):
        text = None if self.rule == "none" or self.coding else self._work_text()
        return "-" if text is None else digest(text)

    def _work_text(self):
        if self.parts is not None:
            heads = [piece.partition(b"\r\n\r\n")[0] for piece in self.parts[2]]
            if any(b"multipart/" in head.lower() for head in heads):
                return None
            names = [re.search(rb' name="([^"]*)', head) for head in heads]
            kept = [piece for piece, name in zip(self.parts[2], names)
                    if not (name and marks_a_try(name[1]))]
            return L(L(*sorted(kept)))
        multipart = self.plain.startswith("multipart/")
        if self.canonical is None and multipart:
            return None
        as_form = self.plain == "application/x-www-form-urlencoded"
        is_json = self.content.lstrip(b" \t\r\n")[:1] in (b"{", b"[") or \
            "json" in self.type.partition(";")[0]
        if self.canonical is not None or is_json and not (self.rule == "form" and as_form):
            return self._json_text()
        if as_form:
            return None if self.form is None else \
                L(L(*sorted(L(*pair) for pair in self.form if not marks_a_try(pair[0]))))
        return L("", self.content)

    def _json_text(self):
        if self.rule.startswith("json pick"):
            return None if self.canonical is None else L(self.canonical)
        text = self.content if self.canonical is None else self.canonical
        if self.canonical == b"":  # all of it was left out
            return L(b"")
        try:
            return None if len(text) > 64 * 1024 else \
                L(canonical(text, omit=[f"/{name}" for name in TRIES]))
        except NoIJson:
            return None


def digest(text):
    return f"{xxh3(text, len(text)):016x}"


def place_of(policy, request):
    path = urllib.parse.unquote_to_bytes(octets(request["target"].partition("?")[0]))
    names = []
    for name in path.split(b"/"):
        name = name.partition(b";")[0]
        if name == b"..":
            names = names[:-1]
        elif name not in (b"", b"."):
            names.append(name)
    out = {one[1:] for one in listed(policy) if one[0] == "-"}
    fields = [L(lower(name), value.strip(" \t")) for name, value in request["headers"]
              if is_name_of(OPERATION, name) and lower(name) not in out]
    return digest(L(request["method"], L(*names), L(*sorted(fields))))


def marks_of(policy, request):
    keys = [lower(one) for one in policy.get("key", ["Idempotency-Key"])]
    out = []
    for name, value in request["headers"]:
        like = lower(name)
        caller = like == "host" or like != "user-agent" and any(part in like for part in CALLER)
        harmless = like in HARMLESS or like.startswith(tuple(HARMLESS_BEGINS)) or \
            name.lower() in HOP or like.startswith("onceguard-")
        if value.strip(" \t") and (caller or not harmless) and like not in keys:
            out.append(octets(f"{name.lower()}:{value.strip(chr(32) + chr(9))}"))
    return [b"all fields", *sorted(out)]


def lasting(marks):
    for mark in marks:
        name, _, value = mark.decode("latin-1").partition(":")
        if name == "cookie":
            kept = [one.strip(" \t") for one in value.split(";") if one.strip(" \t")]
            kept = "; ".join(one for one in kept if not passes(one))
            if kept:
                yield "cookie:" + kept
        elif not against_forgery(name):
            yield mark


def body_of(holder, name="body"):
    if name + "_base64" in holder:
        return base64.b64decode(holder[name + "_base64"])
    return holder.get(name, "").encode()


def of_request(policy, service, request):
    body = body_of(request)
    path, _, query = request["target"].partition("?")
    kind, value = scope_of(policy.get("scope", "credential"), request)
    marks = marks_of(policy, request) if "anonymous" in kind.split(" + ") else []

    def first_way():
        made = Body(policy, request, body, named=False)
        return H("onceguard fingerprint 1", made.rule, service, request["method"], path, query,
                 *made.hashed(), str(len(marks)), *marks)
    key = key_of(policy, request, body, first_way)
    made = Body(policy, request, body)
    rule = "".join(one + " " for one in listed(policy)) + made.rule
    kept = list(lasting(marks))
    print_ = H("onceguard fingerprint 2", "2 " + rule, service, request["method"], path, query,
               *head_of(policy, request), *made.hashed(), str(len(kept)), *kept)
    text = f"2 work={place_of(policy, request)}:{made.work()} {rule}"
    return named(kind, value, octets(key), text, print_)


def of_parts(parts):
    return named(parts.get("scope_kind", "application"), parts["scope"].encode(),
                 parts["key"].encode(), "application",
                 hashlib.sha256(body_of(parts, "fingerprint")).digest())


def named(kind, value, key, method, print_):
    scope = H("onceguard scope 1", kind, value)
    return {"scope_kind": kind, "scope": scope.hex(), "key": key.decode("latin-1"),
            "id": H("onceguard record 1", scope, key).hex(), "fingerprint_method": method,
            "fingerprint": print_.hex()}


def of_vector(vector):
    if "parts" in vector:
        return of_parts(vector["parts"])
    return of_request(vector["policy"], vector["service"], vector["request"])


if __name__ == "__main__":
    FILE = pathlib.Path(sys.argv[1])
    WHOLE = json.loads(FILE.read_text(encoding="utf-8"))
    for one in WHOLE["vectors"]:
        one["expect"] = of_vector(one)
    LINES = ",\n".join("  " + json.dumps(one) for one in WHOLE["vectors"])
    FILE.write_text('{"version": 1, "vectors": [\n' + LINES + "\n]}\n", encoding="utf-8")
