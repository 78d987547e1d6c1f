"""Messages beside a store with a pepper: what receivers get, and what is said of their ids."""

import signal

import pytest

from support.consumer import Consumer, settled

SAYS_ITS_KEY = ["/bin/sh", "-c", "cat > /dev/null; printf %s \"$ONCEGUARD_IDEMPOTENCY_KEY\" > key"]


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
