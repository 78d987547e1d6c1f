"""What the names of fields, cookies and members say, by docs/protocol/identity.md."""

import re

ACCOUNT = (
    ("tenant account merchant impersonate organization organisation").split(),
    ("store stores storeid shop shopid org orgid orgs company companyid workspace "
     "workspaceid project projects projectid customer customerid partner seller vendor realm "
     "onbehalf behalf subuser").split(),
    ("x-client-id client-id x-clientid clientid x-user-id user-id x-userid userid "
     "x-forwarded-host x-original-host x-host x-act-as act-as x-sudo sudo stripe-context "
     "xorgid x-vault-namespace").split(),
)
OPERATION = (
    ("dry-run").split(),
    ("soapaction dryrun simulate simulation sandbox testmode validateonly override").split(),
    ("x-amz-target x-method x-dry x-original-url x-rewrite-url x-test-mode x-http-method "
     "validate-only x-validate-only x-action x-operation action operation").split(),
)
HOP = ("connection http2-settings keep-alive proxy-connection te trailer upgrade transfer- "
       "encoding content-length proxy-authenticate proxy-authorization").split()
HARMLESS = ("accept expect user-agent date priority cache-control pragma dnt save-data "
            "referer sec-gpc upgrade-insecure-requests device-memory downlink ect rtt "
            "viewport-width width dpr via forwarded x-forwarded-for x-forwarded-proto cdn- "
            "loop max-forwards traceparent tracestate baggage b3 x-trace trace-id x-request- "
            "id request-id x-correlation-id correlation-id x-amzn-trace-id x-cloud-trace- "
            "context uber-trace-id sentry-trace x-request-start x-envoy-attempt-count retry- "
            "attempt idempotency-key").split()
HARMLESS_BEGINS = ("accept- content- sec-fetch- sec-ch- x-b3- x-trace- x-datadog- x-retry- "
                   "x-attempt x-stainless- amz-sdk- conformance-").split()
CALLER = ("auth cookie token api-key apikey session user tenant account").split()
PASSING = ("AWSALB AWSALBCORS AWSALBTG AWSALBTGCORS AWSELB AWSELBCORS GCLB __cf_bm __cflb "
           "__cfruid _cfuvid cf_clearance _ga _gid _gat _gcl_au _fbp _fbc LB SERVERID "
           "ROUTEID INGRESSCOOKIE ARRAffinity ARRAffinitySameSite ApplicationGatewayAffinity "
           "ApplicationGatewayAffinityCORS").split()
TRIES = ("deliveryAttempt delivery_attempt attempt attempts retry retryCount retry_count "
         "redelivered csrf _csrf csrf_token csrfToken _token _csrf_token csrfmiddlewaretoken "
         "authenticity_token nonce timestamp signature sign ts").split()


def lower(name):
    return name.lower().replace("_", "-")


def is_name_of(kind, name):
    parts, words, names = kind
    name = lower(name)
    if name.startswith(("sec-", "access-control-")):
        return False
    return any(part in name for part in parts) or name in names or \
        any(word in words for word in name.split("-"))


def marks_a_try(name):
    name = name.decode("latin-1")
    return name in TRIES or name.startswith("oauth_") or \
        name.lower() == "__requestverificationtoken"


def against_forgery(name):
    name = name.lower()
    return ("csrf" in name or "xsrf" in name) and not re.search("session|auth|user", name)


def passes(cookie):
    name = cookie.partition("=")[0].strip(" \t")
    if against_forgery(name):
        return True
    if re.search("session|auth|user", name.lower()):
        return False
    return name in PASSING or bool(re.fullmatch("_ga_[A-Z0-9]+|TS01[0-9a-fA-F]+", name)) or \
        name.startswith(("BIGipServer", "incap_ses_", "visid_incap_"))
