"""`onceguard relay` beside a store with a pepper: what is said of ids of messages."""

import json

from support.waiting import wait_until


def test_logs_name_a_message_by_its_kept_form_which_names_its_row(shop, relay, own_upstream,
                                                                  tmp_path):
    pepper, audit = tmp_path / "pepper", tmp_path / "audit"
    pepper.write_text("p" * 40 + "\n")
    pepper.chmod(0o600)
    own_upstream.plan("/", {"status": 400})
    shop.publish(("sesame-1", None, b"x"), ("sesame-2", None, b"y"))
    running = relay(own_upstream.url, gateway={"audit_log": str(audit)}, pepper=pepper, attempts=2)
    wait_until(lambda: len(running.events("relay-dead")) == 2, 30, "two dead rows")
    dropped, mended = (event["message"] for event in running.events("relay-dead"))
    assert dropped.startswith("hmac-") and mended.startswith("hmac-")
    done = running.command("outbox", "drop", dropped, "--reason", "a test")
    assert done.returncode == 0, done
    assert shop.rows() == [(1,)]
    own_upstream.plan("/", {"status": 200})
    done = running.command("outbox", "retry", mended, "--reason", "a test")
    assert done.returncode == 0, done
    wait_until(shop.is_empty, 30, "an empty outbox")
    assert len(own_upstream.requests()) == 2 * 2 + 1
    assert running.stop() == 0
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert {line["key"] for line in lines} == {dropped, mended}
    assert "sesame" not in (running.folder / "log").read_text() + audit.read_text()
