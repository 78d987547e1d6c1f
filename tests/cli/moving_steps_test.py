"""`keys export` and `keys import` of work in steps: it goes on in another database where it was."""

import json
import subprocess

import pytest

from support.cards import Cards
from support.gateway import PATIENT, clean_environment
from support.order_shop import KINDS, entries_of, postgres_shop, sqlite_shop
from support.waiting import wait_until

DATABASES = ("sqlite", "postgresql")
POINTS = {"after create shipment": "confirmed", "before undoing charge card": "another price"}


@pytest.fixture
def cards():
    running = Cards()
    yield running
    running.close()


@pytest.fixture
def make_shop(request, tmp_path, cards):
    def make(database, name):
        if database == "sqlite":
            return sqlite_shop(tmp_path / f"{name}.db", cards)
        return postgres_shop(request.getfixturevalue("postgres_server"), cards)
    return make


@pytest.fixture
def keys(onceguard, tmp_path):
    """Runs `onceguard keys …` on the database of a shop, or on a store."""
    def run(*arguments, store):
        name = getattr(store, "name", store)
        url = name if "://" in name or name.startswith("sqlite:") else f"sqlite:{name}"
        return subprocess.run([str(onceguard), "keys", *map(str, arguments), "--store", url],
                              cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env={**clean_environment(), **PATIENT}, check=False)
    return run


@pytest.fixture
def exported(keys, tmp_path):
    """Exports the keys of a shop, once the leases of killed programs are over; the file."""
    def run(shop):
        file = tmp_path / "records.jsonl"
        done = wait_until(lambda: (d := keys("export", file, store=shop)).returncode == 0 and d,
                          what="an export without a running lease")
        assert "exported" in done.stdout
        return file
    return run


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("target", DATABASES)
@pytest.mark.parametrize("source", DATABASES)
def test_an_order_goes_on_in_another_database(source, target, point, make_shop, keys, exported):
    kind = POINTS[point]
    old, new = make_shop(source, "old"), make_shop(target, "new")
    new.place("first", "confirmed")  # its tables are there, and other records
    old.kill_at(point, "order-1", kind)
    file = exported(old)
    moved = keys("import", file, store=new)
    assert moved.returncode == 0 and "1 records imported" in moved.stdout, moved
    again = keys("import", file, store=new)
    assert again.returncode == 0 and "1 were there already" in again.stdout, again

    assert new.place("order-1", kind) == KINDS[kind].answer.format("order-1")
    both = old.entries() + new.entries()
    assert both == entries_of({"first": "confirmed", "order-1": kind})
    assert set(old.cards.charges.values()) == {1}
    assert old.cards.refunds.total() == KINDS[kind].refunds


def test_without_the_import_its_steps_run_again(make_shop):
    """The control: what is counted above would show a step that was lost on the way."""
    old, new = make_shop("sqlite", "old"), make_shop("sqlite", "new")
    old.kill_at("after create shipment", "order-1", "confirmed")
    new.place("order-1", "confirmed")
    assert (old.entries() + new.entries())["order-1", "reserved"] == 2


@pytest.mark.parametrize("source", DATABASES)
@pytest.mark.parametrize("target", ["sqlite", "redis"])
def test_a_store_without_steps_refuses_the_record_by_its_key(source, target, make_shop, keys,
                                                             exported, request, tmp_path):
    shop = make_shop(source, "old")
    shop.place("finished", "confirmed")
    shop.kill_at("after charge card", "order-1", "confirmed")
    file = exported(shop)
    store = (f"sqlite:{tmp_path}/store.db" if target == "sqlite"
             else request.getfixturevalue("redis_server").create_store())
    done = keys("import", file, store=store)
    assert done.returncode == 1, done
    assert "key order-1: " in done.stderr and "work in steps" in done.stderr, done
    assert "1 records imported, 1 can't be stored" in done.stdout, done
    listed = [json.loads(line)["key"]
              for line in keys("list", "--json", store=store).stdout.splitlines()]
    assert listed == ["finished"]


@pytest.mark.parametrize("damage", [{"progress": "AQ=="}, {"progress": "?"}, {"step": None},
                                    {"progress": None, "step": None}])
def test_steps_that_were_changed_in_the_file_are_refused(damage, make_shop, keys, exported):
    old, new = make_shop("sqlite", "old"), make_shop("sqlite", "new")
    new.place("first", "confirmed")
    old.kill_at("after charge card", "order-1", "confirmed")
    file = exported(old)
    head, record, end = file.read_text().splitlines()
    members = {**json.loads(record), **damage}
    members = {name: value for name, value in members.items() if value is not None}
    file.write_text("\n".join([head, json.dumps(members, separators=(",", ":")), end]) + "\n")
    done = keys("import", file, store=new)
    assert done.returncode == 1 and "line 2: it is damaged" in done.stderr, done


@pytest.mark.parametrize("source", DATABASES)
def test_operators_see_the_last_step_and_end_an_order(source, make_shop, keys):
    shop = make_shop(source, "shop")
    shop.kill_at("before undoing charge card", "order-1", "another price")
    state = wait_until(lambda: (r := json.loads(keys("list", "--json", store=shop).stdout)
                                )["state"] == "unknown" and r, what="the end of the lease")
    assert (state["key"], state["step"]) == ("order-1", "compensated create shipment")
    page = keys("show", "order-1", store=shop).stdout
    assert "compensated create shipment" in page, page
    done = keys("complete", "order-1", "--status", "500", "--yes", store=shop)
    assert done.returncode == 0, done
    assert shop.place("order-1", "another price") == "500  (replayed)"


def test_a_gateway_does_not_keep_its_records_in_an_application_s_database(make_shop, onceguard):
    shop = make_shop("sqlite", "shop")
    shop.place("order-1", "confirmed")
    done = subprocess.run([str(onceguard), "gateway", "--listen", "127.0.0.1:0", "--upstream",
                           "http://127.0.0.1:9", "--store", f"sqlite:{shop.name}"],
                          capture_output=True, text=True, timeout=60, env=clean_environment(),
                          check=False)
    assert done.returncode == 3 and "another program" in done.stdout + done.stderr, done
