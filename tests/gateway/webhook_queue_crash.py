"""The gateway is killed while it publishes deliveries: what it accepted takes effect once."""

import hashlib
import hmac
import random
import threading

from support.consumer import Consumer, Stream
from support.redis import Redis
from support.waiting import scaled, wait_until

SECRET = "a secret"


def post_signed(gateway, name):
    """The status of a delivery."""
    body = b'{"name":"%s"}' % name.encode()
    mark = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    fields = [("X-GitHub-Delivery", name), ("X-Hub-Signature-256", f"sha256={mark}")]
    return gateway.post("/github", body=body, fields=fields, timeout=5).status


def test_what_was_accepted_takes_effect_once(start_gateway, upstream, own_upstream, onceguard,
                                             tmp_path):
    broker = Redis({"appendonly": "yes", "appendfsync": "always"}).start()
    queue = Stream(broker, "events")
    (tmp_path / "secret").write_text(SECRET)
    gateway = start_gateway(upstream, {"route": [{
        "path": "/github", "webhook": "github", "webhook_secret_file": str(tmp_path / "secret"),
        "webhook_queue": f"{queue.at}/{queue.name}", "lease": "1s", "upstream_timeout": "500ms"}]})
    consumer = Consumer(onceguard, tmp_path, [{
        "subscriber": "hooks", "from": queue.url, "dead_letter": queue.dead_url,
        "to": own_upstream.url + "/work"}]).start()
    names = [f"delivery-{n}" for n in range(scaled(400))]
    left = list(reversed(names))
    accepted = set()

    def send(name):
        """As a sender does: again and again, until it is accepted."""
        def taken():
            try:
                return post_signed(gateway, name) == 200
            except OSError:
                return False

        wait_until(taken, 120, name)
        accepted.add(name)

    # The senders go on as far as the next kill and a little beyond it, so that those who are faster
    # than the kills of a busy machine do not end before these.
    permits, given = threading.Semaphore(0), 0

    def work():
        while True:
            permits.acquire()
            try:
                name = left.pop()
            except IndexError:
                return
            send(name)

    try:
        clients = [threading.Thread(target=work, daemon=True) for _ in range(8)]
        for client in clients:
            client.start()
        kills = 0
        dice = random.Random(7)
        mark = 0
        while any(client.is_alive() for client in clients):
            mark = min(len(names), len(accepted) + dice.randint(1, len(names) // 10))
            if mark == len(names):
                permits.release(len(names) + len(clients))  # also to find that nothing is left
            elif mark + 4 > given:
                permits.release(mark + 4 - given)
                given = mark + 4
            wait_until(lambda: len(accepted) >= mark or not any(c.is_alive() for c in clients), 120,
                       "deliveries")
            if any(client.is_alive() for client in clients):
                gateway.kill()
                gateway.start()
                kills += 1
        assert accepted == set(names)
        assert kills >= 5
        wait_until(lambda: len(own_upstream.effects()) == len(names), 120, "the effects")
        wait_until(lambda: queue.pending() == 0, 30, "the acknowledgements")
        assert own_upstream.effects() == {name: 1 for name in names}
    finally:
        consumer.stop()
        broker.close()
