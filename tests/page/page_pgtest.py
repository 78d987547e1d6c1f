"""The acts of the page on PostgreSQL."""

from page.page_test import make_unknown


def test_forty_are_settled_by_a_list(begin_page, act_out, postgres_server, database):
    gateway, admin, facts = begin_page(store={"url": postgres_server.url(database)})
    keys = [f"charge-{i}" for i in range(40)]
    make_unknown(gateway, keys)
    act_out("by_a_list", {**facts, "unknown": keys, "paid": keys[:25]})
    states = {one["key"]: one["state"] for one in admin.records()}
    assert states == {key: "completed" if i < 25 else "released" for i, key in enumerate(keys)}


def test_the_acts_of_one_key(begin_page, act_out, postgres_server, database):
    gateway, admin, facts = begin_page(store={"url": postgres_server.url(database)})
    unknown = ["charge-1", "charge-2", "charge-3"]
    make_unknown(gateway, unknown)
    act_out("acts", {**facts, "unknown": unknown})
    states = {one["key"]: one["state"] for one in admin.records("state=completed")}
    assert states == {"charge-1": "completed"}
    assert admin.records("state=unknown") == []
