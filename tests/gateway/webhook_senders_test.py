"""Webhooks of Twilio, Adyen and PayPal, which sign more, or less, than a body."""

import json

import pytest

from support.expecting import assert_first, assert_problem, assert_replay_of
from support.gateway import Gateway
from support.webhook_senders import PUBLIC_URL, SENDERS, Adyen, PayPal, Twilio

OTHER_SECRETS = {"twilio": "another", "adyen": "00" * 32}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("senders")


@pytest.fixture(scope="module")
def gateway(onceguard, upstream, tmp_path_factory, folder):
    routes = [{"path": f"/{kind.name}", "webhook": kind.name, **kind.options,
               "webhook_secret_file": str(kind(folder).secret_file)} for kind in SENDERS]
    running = Gateway(onceguard, tmp_path_factory.mktemp("gateway"), upstream.url,
                      {"route": routes})
    yield running.start()
    running.close()


class Sent:
    """Sends the deliveries of one event."""

    def __init__(self, gateway, upstream, sender):
        self.gateway, self.upstream, self.sender = gateway, upstream, sender

    def send(self, body, fields, target=None):
        return self.gateway.post(target or self.sender.target, body=body, fields=fields,
                                 content_type=self.sender.content_type)

    def deliver(self, **how):
        return self.send(*self.sender.delivery(**how))

    def runs(self):
        return [request for request in self.upstream.requests()
                if self.sender.message in request["body"]]

    def assert_refused(self, answer, name="signature-invalid", status=403):
        assert_problem(answer, status, name, False)
        assert self.runs() == []


@pytest.fixture
def twilio(gateway, upstream, folder):
    return Sent(gateway, upstream, Twilio(folder))


@pytest.fixture
def adyen(gateway, upstream, folder):
    return Sent(gateway, upstream, Adyen(folder))


@pytest.fixture
def paypal(gateway, upstream, folder):
    return Sent(gateway, upstream, PayPal(folder))


@pytest.fixture(params=[kind.name for kind in SENDERS])
def sent(request):
    return request.getfixturevalue(request.param)


def test_a_delivery_runs_once_and_its_repeat_gets_the_answer(sent):
    body, fields = sent.sender.delivery()
    first = assert_first(sent.send(body, fields))
    assert_replay_of(sent.send(body, fields), first)  # as an attacker would
    assert_replay_of(sent.deliver(), first)           # as the sender does
    assert len(sent.runs()) == 1


def test_what_somebody_else_signed_is_refused(sent):
    name = sent.sender.name
    other = OTHER_SECRETS.get(name) or str(sent.sender.made_key("other"))
    sent.assert_refused(sent.deliver(secret=other))


def test_a_delivery_that_was_changed_is_refused(sent):
    body, fields = sent.sender.delivery()
    sent.assert_refused(sent.send(body.replace(sent.sender.message.encode(), b"another"), fields))
    sent.assert_refused(sent.send(body[:-1], fields))
    sent.assert_refused(sent.send(b"", fields))


def test_a_signature_that_is_none_is_refused(sent):
    body, fields = sent.sender.delivery()
    for mark in ("", "AAAA", "%", "a" * 344, "A" * 27 + "="):
        if sent.sender.name == "adyen":
            whole = json.loads(body)
            item = whole["notificationItems"][0]["NotificationRequestItem"]
            item["additionalData"]["hmacSignature"] = mark
            changed = json.dumps(whole).encode(), fields
        else:
            changed = body, [(n, mark if "Sig" in n or "SIG" in n else v) for n, v in fields]
        sent.assert_refused(sent.send(*changed))


@pytest.mark.parametrize("kind", [Twilio, PayPal])
def test_no_header_that_is_signed_may_be_missing_or_doubled(gateway, upstream, folder, kind):
    sent = Sent(gateway, upstream, kind(folder))
    body, fields = sent.sender.delivery()
    needed = [f for f in fields
              if f[0] not in ("I-Twilio-Idempotency-Token", "PAYPAL-CERT-URL", "PAYPAL-AUTH-ALGO")]
    for field in needed:
        sent.assert_refused(sent.send(body, [f for f in fields if f is not field]))
        sent.assert_refused(sent.send(body, [*fields, field]))


def test_twilio_signs_no_token_so_another_one_is_no_other_delivery(twilio):
    body, fields = twilio.sender.delivery()
    first = assert_first(twilio.send(body, fields))
    again = [(n, "another" if n.startswith("I-") else v) for n, v in fields]
    assert_replay_of(twilio.send(body, again), first)
    assert len(twilio.runs()) == 1


def test_twilio_signs_no_borders_so_moved_ones_are_no_other_delivery(twilio):
    body, fields = twilio.sender.delivery()
    first = assert_first(twilio.send(body, fields))
    moved = f"MessageSid={twilio.sender.message}MessageStatusdeliveredTo%2B1800+555".encode()
    assert_replay_of(twilio.send(moved, fields), first)
    assert len(twilio.runs()) == 1


def test_twilio_signs_the_url_of_the_public(twilio):
    body, fields = twilio.sender.delivery()
    for target in ("/twilio", "/twilio?step=2", "/twilio/more?step=1", "/twilio?step=1&a=%zz"):
        twilio.assert_refused(twilio.send(body, fields, target))
    with_port = PUBLIC_URL.replace(".example", ".example:443")
    first = assert_first(twilio.deliver(url=with_port))
    assert_replay_of(twilio.deliver(), first)
    twilio.sender.query = "/voice?step=1&bar="
    assert_first(twilio.deliver())


def test_twilio_signs_the_hash_of_a_json_body(twilio):
    data = json.dumps({"sid": twilio.sender.message}).encode()
    body, fields, query = twilio.sender.json_delivery(data)
    for other in (b"", b"{}", body + b" ", b"sid=" + twilio.sender.message.encode()):
        twilio.assert_refused(twilio.send(other, fields, "/twilio" + query))
    twilio.assert_refused(twilio.send(body, fields, "/twilio"))
    assert_first(twilio.send(body, fields, "/twilio" + query))


def test_twilio_statuses_of_a_message_are_deliveries_of_their_own(twilio):
    for status in ("sent", "delivered"):
        assert_first(twilio.deliver(MessageStatus=status))
    assert len(twilio.runs()) == 2


def test_a_form_that_is_none_is_refused(twilio):
    _, fields = twilio.sender.delivery()
    twilio.assert_refused(twilio.send(f"MessageSid={twilio.sender.message}%zz".encode(), fields))


def test_adyen_signs_one_item_so_no_other_may_be_there(adyen):
    good = adyen.sender.item()
    forged = {"NotificationRequestItem": {**good["NotificationRequestItem"], "success": "false"}}
    for items in ([good, forged], [good, good], [forged, good], [], {"0": good, "1": forged},
                  {"0": good, "x": forged}, good):
        adyen.assert_refused(adyen.send(json.dumps({"notificationItems": items}).encode(), []))
    twice = f'{{"notificationItems":[{json.dumps(good)}],"notificationItems":[{{}}]}}'
    for text in (twice, "{", "[]", "null"):
        adyen.assert_refused(adyen.send(text.encode(), []))


def test_adyen_signs_each_of_the_values(adyen):
    for name in adyen.sender.names:
        item = adyen.sender.item()
        inner = item["NotificationRequestItem"]
        holder = inner["amount"] if name in ("value", "currency") else inner
        holder[name] = 7 if name == "value" else "other"
        adyen.assert_refused(adyen.send(json.dumps({"notificationItems": [item]}).encode(), []))


def test_adyen_repeats_with_other_details_are_repeats(adyen):
    first = assert_first(adyen.deliver(reason="a", eventDate="2026-01-01"))
    assert_replay_of(adyen.deliver(reason="b", eventDate="2026-01-02"), first)
    assert_first(adyen.deliver(success="false"))
    assert_first(adyen.deliver(eventCode="CAPTURE"))
    assert_first(adyen.deliver(merchantAccountCode="Other"))


def test_adyen_values_can_not_be_cut_out_of_one_another(adyen):
    body, fields = adyen.sender.delivery(merchantReference="order:7:1")
    item = json.loads(body)["notificationItems"][0]["NotificationRequestItem"]
    item.update(pspReference=item["pspReference"] + ":", originalReference="Shop",
                merchantAccountCode="order", merchantReference="7:1")
    moved = {"notificationItems": [{"NotificationRequestItem": item}]}
    adyen.assert_refused(adyen.send(json.dumps(moved).encode(), fields))
    assert_first(adyen.send(body, fields))


def test_paypal_signs_a_time(paypal):
    for age in (74 * 3600, -74 * 3600):
        paypal.assert_refused(paypal.deliver(age=age), "delivery-expired")
    first = assert_first(paypal.deliver(age=72 * 3600))
    assert_replay_of(paypal.deliver(age=-3600), first)


def test_paypal_tries_again_with_other_transmissions(paypal):
    first = assert_first(paypal.deliver(transmission="one"))
    assert_replay_of(paypal.deliver(transmission="two"), first)
    assert_problem(paypal.deliver(summary="other"), 422, "key-reused", False)
    assert len(paypal.runs()) == 1


def test_paypal_signs_the_webhook_and_the_transmission(paypal):
    body, fields = paypal.sender.delivery()
    for name in ("PAYPAL-TRANSMISSION-ID", "PAYPAL-TRANSMISSION-TIME"):
        changed = [(n, "2026-01-01T00:00:00Z" if n == name else v) for n, v in fields]
        paypal.assert_refused(paypal.send(body, changed))
    paypal.sender.options = {"webhook_id": "another"}
    paypal.assert_refused(paypal.deliver())


ROUTE = '[[upstream]]\nname = "a"\nurl = "http://127.0.0.1:1"\n[[route]]\n'
OWN = '[[webhook]]\nname = "x"\nid = ["header:A"]\nsignature = "header:B"\n'


@pytest.mark.parametrize("lines, fault", [
    (ROUTE + 'webhook = "twilio"\nwebhook_secret_file = "TWILIO"',
     ':5:11: [[route]] webhook: needs webhook_url, the public URL that "twilio" signs'),
    (ROUTE + 'webhook = "paypal"\nwebhook_secret_file = "PAYPAL"',
     ':5:11: [[route]] webhook: needs webhook_id, as "paypal" signs it'),
    (ROUTE + 'webhook = "paypal"\nwebhook_secret_file = "TWILIO"\nwebhook_id = "1"',
     "twilio: holds no public key and no certificate"),
    (ROUTE + 'webhook = "adyen"\nwebhook_secret_file = "TWILIO"',
     "twilio: line 1: expected pairs of hex digits"),
    (ROUTE + 'webhook = "adyen"\nwebhook_secret_file = "ADYEN"\nwebhook_url = "https://a/"',
     ':7:15: [[route]] webhook_url: not used, as "adyen" signs no URL'),
    (ROUTE + 'webhook = "adyen"\nwebhook_secret_file = "ADYEN"\nwebhook_id = "1"',
     ':7:14: [[route]] webhook_id: not used, as "adyen" signs none'),
    (ROUTE + 'webhook_url = "https://a/"', ":5:15: [[route]] webhook_url: only with webhook"),
    (ROUTE + 'webhook = "twilio"\nwebhook_url = "https://user:secret@a/"',
     ":6:15: [[route]] webhook_url: expected a URL such as"),
    (OWN + 'signed = "{boby}"', ":5:10: [[webhook]] signed: there is no {boby}"),
    (OWN + 'signed = "{url}"', ":1:1: [[webhook]] signed: has nothing of the body"),
    (OWN + 'secret = "pem"', ':1:1: [[webhook]] secret: "pem" needs algorithm = "rsa-sha256"'),
    (OWN + 'absent = ["form:a"]', ':5:11: [[webhook]] absent: expected "json:/POINTER"'),
    (OWN + 'body_hash = "query:h"',
     ":1:1: [[webhook]] body_hash: is not in signed, so anybody can change it"),
])
def test_check_says_what_is_wrong(start_gateway, upstream, folder, tmp_path, lines, fault):
    files = {kind.name.upper(): kind(folder).secret_file for kind in SENDERS}
    for name, path in files.items():
        lines = lines.replace(name, str(path))
    file = tmp_path / "config.toml"
    file.write_text(lines + "\n")
    ended = start_gateway(upstream, started=False).command("check", "--config", str(file))
    said = ended.stdout + ended.stderr
    assert ended.returncode == 3, said
    assert fault in said and "secret@" not in said, said


def test_check_warns_of_what_is_forgotten_too_soon(start_gateway, upstream, folder, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(ROUTE + 'webhook = "paypal"\nwebhook_id = "1"\nretention = "3d"\n'
                    f'webhook_secret_file = "{PayPal(folder).secret_file}"\n')
    ended = start_gateway(upstream, started=False).command("check", "--config", str(file))
    assert 'retention: shorter than twice the tolerance of "paypal"' in ended.stdout + ended.stderr
