"""A server that gives one answer, whatever it is asked."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def fixed_answer(body, server_name="fixed"):
    """Its address, while it answers 200 with that body, and calls itself so."""
    class Always(http.server.BaseHTTPRequestHandler):
        """Of each GET."""
        def do_GET(self):  # pylint: disable=invalid-name
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def version_string(self):
            return server_name.encode().decode("latin-1")  # as which it is written

        def log_message(self, *_words):
            """Nobody reads it."""

    with http.server.HTTPServer(("127.0.0.1", 0), Always) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
