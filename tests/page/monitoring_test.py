"""The page's longer history, of a real Prometheus, and what a store says of itself."""

from support.prometheus import Prometheus, two_days
from support.waiting import wait_until


def test_days_are_drawn_from_prometheus(begin_page, act_out, tmp_path):
    kept = Prometheus(tmp_path / "prometheus", two_days()).start()
    try:
        _, _, facts = begin_page(gateway={"prometheus_url": kept.url})
        act_out("longer_history", facts)
    finally:
        kept.close()


def test_a_prometheus_that_is_away_is_said(begin_page, act_out):
    _, _, facts = begin_page(tokens=False, gateway={"prometheus_url": "http://127.0.0.1:1"})
    act_out("prometheus_away", {**facts, "server": "127.0.0.1:1"})


def test_what_the_store_says_of_itself(begin_page, act_out, page_store, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    _, admin, facts = begin_page(store={**page_store, "sweep": "1d"},
                                 gateway={"state_dir": str(folder)})
    wait_until(lambda: "written_at" in admin.get("/api/store").json()["witness"], 30, "a witness")
    said = {"Witness": rf"{folder}/store\.witness, written (\d+ \w+ )+ago", "Last sweep": "not yet"}
    if not page_store:  # PostgreSQL says it with the first sweep
        said["Size"] = r"\d+ KiB"
    act_out("store_facts", {**facts, "facts": said})
