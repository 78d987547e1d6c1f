"""Over PostgreSQL: kills between claim and settle, two processes, and the lease in SQL."""

import pytest

from support.decisions import DecisionService, parts


@pytest.fixture
def two_services(onceguard, tmp_path, postgres_server, database):
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        made.append(DecisionService(onceguard, folder, store=postgres_server.url(database)).start())
    yield made
    for each in made:
        each.close()


def test_an_operation_is_settled_at_another_process_after_a_kill(two_services):
    one, two = two_services
    for _ in range(3):
        wanted = parts()
        begun = one.connect().claim(**wanted)
        one.kill()
        caller = two.connect()
        assert caller.claim(**wanted)["verdict"] == "busy"
        assert caller.complete(begun["operation"])["outcome"] == "settled"
        one.start()
        assert one.connect().claim(**wanted)["answer"]["body"] == "done"


def test_a_claim_that_is_sent_again_after_a_kill_runs(two_services):
    one, _ = two_services
    wanted = parts(claim="0f" * 16)
    begun = one.connect().claim(**wanted)
    one.kill()
    one.start()
    later = one.connect().claim(**wanted)
    assert later["verdict"] == "run" and int(later["token"]) > int(begun["token"])
