"""Deliveries as Twilio, Adyen and PayPal send them, by their published rules."""

import base64
import hashlib
import hmac
import json
import subprocess
import urllib.parse
import uuid
import zlib
from datetime import datetime, timezone

PUBLIC_URL = "https://hooks.shop.example/in"


def mac_text(secret, text, algorithm):
    return base64.b64encode(hmac.new(secret, text, algorithm).digest()).decode()


class Twilio:
    """A form, or JSON of which the URL has the hash."""

    name = "twilio"
    content_type = "application/x-www-form-urlencoded"
    options = {"webhook_url": PUBLIC_URL}

    def __init__(self, folder):
        self.secret = "a-token-of-twilio"
        self.secret_file = folder / "twilio"
        self.secret_file.write_text(self.secret + "\n")
        self.message = f"SM{uuid.uuid4().hex}"
        self.query = "?step=1"

    def form(self, **more):
        return {"MessageSid": self.message, "MessageStatus": "delivered", "To": "+1800 555", **more}

    def delivery(self, secret=None, url=PUBLIC_URL, **more):
        form = self.form(**more)
        text = url + self.query + "".join(k + form[k] for k in sorted(form))
        return urllib.parse.urlencode(form).encode(), self.fields(secret, text)

    def json_delivery(self, body, secret=None):
        """The body, its fields, and the query with its hash."""
        query = f"?bodySHA256={hashlib.sha256(body).hexdigest()}"
        return body, self.fields(secret, PUBLIC_URL + query), query

    def fields(self, secret, text):
        mark = mac_text((secret or self.secret).encode(), text.encode(), "sha1")
        return [("X-Twilio-Signature", mark), ("I-Twilio-Idempotency-Token", str(uuid.uuid4()))]

    @property
    def target(self):
        return "/twilio" + self.query


class Adyen:
    name = "adyen"
    content_type = "application/json"
    target = "/adyen"
    options = {}
    names = ("pspReference", "originalReference", "merchantAccountCode", "merchantReference",
             "value", "currency", "eventCode", "success")

    def __init__(self, folder):
        self.secret = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
        self.secret_file = folder / "adyen"
        self.secret_file.write_text(self.secret + "\n")
        self.message = uuid.uuid4().hex[:16].upper()

    def item(self, secret=None, **more):
        values = dict(zip(self.names, (self.message, "", "Shop", "order-1", 1130, "EUR",
                                       "AUTHORISATION", "true")), **more)
        text = ":".join(str(values[name]) for name in self.names)
        mark = mac_text(bytes.fromhex(secret or self.secret), text.encode(), "sha256")
        amount = {name: values.pop(name) for name in ("value", "currency")}
        return {"NotificationRequestItem": {**values, "amount": amount,
                                            "additionalData": {"hmacSignature": mark}}}

    def delivery(self, secret=None, **more):
        items = [self.item(secret, **more)]
        return json.dumps({"live": "false", "notificationItems": items}).encode(), []


class PayPal:
    name = "paypal"
    content_type = "application/json"
    target = "/paypal"
    options = {"webhook_id": "9XL90610J3647323C"}

    def __init__(self, folder):
        self.folder = folder
        self.secret = str(self.made_key("paypal"))
        self.secret_file = folder / "paypal.pem"
        self.message = f"WH-{uuid.uuid4().hex}"

    def made_key(self, name):
        """The file of a private key; beside it is its certificate."""
        key = self.folder / f"{name}.key"
        if key.exists():
            return key
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3",
                        "-subj", "/CN=sender", "-keyout", key, "-out", key.with_suffix(".pem")],
                       check=True, capture_output=True)
        return key

    def delivery(self, secret=None, age=0, transmission=None, **more):
        body = json.dumps({"id": self.message, "event_type": "PAYMENT", **more}).encode()
        now = datetime.fromtimestamp(datetime.now().timestamp() - age, timezone.utc)
        time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        name = transmission or str(uuid.uuid4())
        text = "|".join((name, time, self.options["webhook_id"], str(zlib.crc32(body))))
        mark = subprocess.run(["openssl", "dgst", "-sha256", "-sign", secret or self.secret],
                              input=text.encode(), check=True, capture_output=True).stdout
        return body, [("PAYPAL-TRANSMISSION-ID", name), ("PAYPAL-TRANSMISSION-TIME", time),
                      ("PAYPAL-TRANSMISSION-SIG", base64.b64encode(mark).decode()),
                      ("PAYPAL-CERT-URL", "http://127.0.0.1:1/never-fetched"),
                      ("PAYPAL-AUTH-ALGO", "SHA256withRSA")]


SENDERS = (Twilio, Adyen, PayPal)
