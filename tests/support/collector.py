"""A collector of OpenTelemetry: takes spans over HTTP as JSON, and checks their form."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.waiting import wait_until


class Collector:
    """`status` is what it answers; nothing is taken unless it is 200."""

    def __init__(self):
        self.spans = []
        self.requests = []
        self.status = 200
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def _handler(self):
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):  # the name is the library's
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, dict(self.headers), body))
                status = collector.status
                if status == 200:
                    collector.spans += spans_in(body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        return Handler

    def environment(self, **more):
        """The variables of a process that sends its spans here, soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50", **more}

    def trace(self, trace_id, count):
        """The spans of a trace by name, once there are so many."""
        def found():
            own = [s for s in self.spans if s["traceId"] == trace_id]
            return {s["name"]: s for s in own} if len(own) >= count else None
        return wait_until(found, what=f"{count} spans of {trace_id}")

    def servers(self, count):
        """The spans of servers, once there are so many."""
        def found():
            own = [s for s in self.spans if s["kind"] == 2]
            return own if len(own) >= count else None
        return wait_until(found, what=f"{count} spans of servers")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


SPAN_MEMBERS = {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano",
                "endTimeUnixNano", "attributes", "links", "status"}


def spans_in(body):
    """The spans of an ExportTraceServiceRequest; fails where its form is another one."""
    whole = json.loads(body)
    assert set(whole) == {"resourceSpans"}
    spans = []
    for resource in whole["resourceSpans"]:
        assert set(resource) == {"resource", "scopeSpans"}
        names = attributes_of(resource["resource"])
        assert names["service.name"]
        for scope in resource["scopeSpans"]:
            assert set(scope) == {"scope", "spans"}
            assert scope["scope"]["name"] == "onceguard" and scope["scope"]["version"]
            spans += [checked(dict(span, service=names["service.name"]))
                      for span in scope["spans"]]
    return spans


def checked(span):
    assert set(span) - {"service"} <= SPAN_MEMBERS, span
    assert re.fullmatch("[0-9a-f]{32}", span["traceId"])
    assert re.fullmatch("[0-9a-f]{16}", span["spanId"])
    assert re.fullmatch("[0-9a-f]{16}", span.get("parentSpanId", "0" * 16))
    assert span["name"] and span["kind"] in (1, 2, 3)
    begin, end = span["startTimeUnixNano"], span["endTimeUnixNano"]
    assert isinstance(begin, str) and isinstance(end, str) and int(begin) <= int(end), span
    assert span.get("status", {}).get("code", 0) in (0, 2)
    for link in span.get("links", []):
        assert set(link) == {"traceId", "spanId"}
        assert re.fullmatch("[0-9a-f]{32}", link["traceId"])
    span["attributes"] = attributes_of(span)
    return span


def attributes_of(holder):
    """Name to value; a 64-bit number is a text in JSON."""
    out = {}
    for attribute in holder.get("attributes", []):
        assert set(attribute) == {"key", "value"}
        (kind, value), = attribute["value"].items()
        assert kind in ("stringValue", "intValue") and isinstance(value, str), attribute
        assert attribute["key"] not in out
        out[attribute["key"]] = int(value) if kind == "intValue" else value
    return out
