"""The calls of the page's views, on a store that filled.py has filled."""

from support import filled


def calls_by_key(key, least=0):
    return [
        ("search, a key", f"/api/records?limit=100&key={key}", least),
        ("search, no such key", "/api/records?limit=100&key=nobody", 0),
    ]


def calls_of_views(record, records):
    """Each call that a view makes: its name, its target, and how many records it finds at least.
    `record`: the id of one that ran."""
    middle = records // 2
    key, scope = filled.key_of(middle).decode(), filled.scope_of(middle).hex()
    return [
        ("overview, top", "/api/overview?after=0", 0),
        ("overview, what changed", "/api/changes", 0),
        ("store", "/api/store", 0),
        ("attention", "/api/records?attention=true&limit=1000", 1),
        ("search, anything", "/api/records?limit=100", 100),
        ("search, a key and its scope", f"/api/records?limit=100&key={key}&scope={scope}", 1),
        ("search, a part of a key", f"/api/records?limit=100&text={key[:-1]}", 0),
        ("search, a scope", f"/api/records?limit=100&scope={scope}", 1),
        ("search, a state", "/api/records?limit=100&state=failed", 1),
        ("search, unknown", "/api/records?limit=100&state=unknown", 0),
        ("search, a route", "/api/records?limit=100&route=/route-7", 1),
        ("search, no such route", "/api/records?limit=100&route=/nowhere", 0),
        ("search, younger", "/api/records?limit=100&younger=1h", 0),
        ("search, older", "/api/records?limit=100&older=1h", 1),
        ("one key", f"/api/records/{record}?body=no", 0),
        ("one key, its answer", f"/api/records/{record}?body=yes", 0),
        ("one key, its requests", f"/api/recent?record={record}&limit=2000", 0),
        ("audit", "/api/audit?limit=200", 0),
        *calls_by_key(key),
    ]
