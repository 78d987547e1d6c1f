"""Messages beside a store with a pepper: what receivers get, and what is said of their ids."""

import json
import signal

import pytest

from support.brokers import WAIT
from support.consumer import Consumer, settled

SAYS_ITS_KEY = ["/bin/sh", "-c", "cat > /dev/null; printf %s \"$ONCEGUARD_IDEMPOTENCY_KEY\" > key"]
SAYS_A_LINE_AND_REFUSES = ["/bin/sh", "-c", "cat > /dev/null; echo a line; exit 65"]


@pytest.fixture
def pepper(tmp_path):
    path = tmp_path / "pepper"
    path.write_text("p" * 40 + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def begin(onceguard, tmp_path, stream):
    made = []

    def start(pepper=None, gateway=None, **table):
        folder = tmp_path / f"consumer{len(made)}"
        folder.mkdir()
        table = {"subscriber": "billing", "from": stream.url, "dead_letter": stream.dead_url,
                 **table}
        made.append(Consumer(onceguard, folder, [table], gateway=gateway, pepper=pepper))
        return made[-1].start()

    yield start
    for each in made:
        each.stop(signal.SIGKILL)


def test_a_pepper_does_not_change_the_key_that_a_receiver_gets(begin, stream, pepper):
    """One may be turned on between the two attempts of a message."""
    keys = []
    for secret in (None, pepper):
        consumer = begin(secret, command=SAYS_ITS_KEY)
        stream.add("x", "sesame")
        settled(consumer, 1)
        assert consumer.stop() == 0
        keys.append((consumer.folder / "key").read_text())
    assert len(keys[0]) == 64 and keys[0] == keys[1]


def test_logs_name_a_message_by_its_kept_form_which_names_its_letter(begin, stream, pepper,
                                                                     tmp_path):
    audit = tmp_path / "audit"
    stream.add("x", "sesame")
    stream.add("y", "other")
    consumer = begin(pepper, {"audit_log": str(audit)}, command=SAYS_A_LINE_AND_REFUSES)
    settled(consumer, 2)
    assert consumer.stop() == 0
    said, = [event["message"] for event in consumer.events("message-dead")
             if event["message"] in consumer.command("keys", "list", "--key", "sesame").stdout]
    assert said.startswith("hmac-")
    assert said in {event["message"] for event in consumer.events("handler-output")}
    done = consumer.command("messages", "drop", said, "--wait", WAIT, "--reason", "a test")
    assert done.returncode == 0 and "sesame: dropped" in done.stdout, done
    assert {json.loads(line)["key"] for line in audit.read_text().splitlines()} == {said}
    assert "sesame" not in (consumer.folder / "log").read_text() + audit.read_text()
