"""An older copy that is written over the files of a running decision service, byte by byte."""

import pathlib

import pytest

from support.decisions import parts
from support.sqlite_files import OlderCopy
from support.waiting import wait_until


@pytest.mark.parametrize("kind", ["complete", "fail", "release"])
def test_a_copy_from_between_claim_and_settle_is_noticed(start_service, tmp_path, kind):
    service = start_service(config={"gateway": {"state_dir": str(tmp_path),
                                                "replay_cache": "0"},
                                    "store": {"after_loss": "refuse"}})
    call = service.connect()
    call.complete(call.claim(**parts())["operation"])
    wanted = parts()
    begun = call.claim(**wanted)
    copy = OlderCopy(pathlib.Path(service.store.removeprefix("sqlite:")))
    call.settle(begun["operation"], kind,
                **({"answer": {"status": 201, "body": "done"}} if kind == "complete" else {}))
    copy.write_over()
    # The first one finds the file changed under it, and the second one another memory.
    for _ in range(2):
        answer = call.claim(**wanted)
        assert answer["verdict"] == "store_failed", answer
    wait_until(lambda: service.events("store-file-replaced"), 10, "the notice")
