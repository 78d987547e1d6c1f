"""The servers that a measurement needs: one upstream, nginx as a proxy, and gateways before it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY = os.environ.get("ONCEGUARD_BIN", os.path.join(ROOT, "build/release/onceguard"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    end = time.monotonic() + 60  # a start with many keys takes some
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"a server ended at its start with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.02)
    raise SystemExit(f"nothing listens on port {port}")


NGINX = """
{user} daemon off; master_process on; worker_processes {workers};
pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p;
  fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
  keepalive_requests 100000000; keepalive_timeout 600s;
  {body}
}}
"""

UPSTREAM = """
  server {{ listen 127.0.0.1:{port} backlog=4096;
    default_type application/json; add_header Cache-Control "max-age=3600";
    set $answer '{{"id":"ch_1","amount":500,"currency":"eur","status":"succeeded","note":"{pad}"}}';
    location / {{ return 201 $answer; }}
    location /cached {{ return 200 $answer; }} }}
"""

PROXY = """
  upstream up {{ server 127.0.0.1:{upstream}; keepalive 128; keepalive_requests 100000000; }}
  proxy_cache_path {dir}/cache keys_zone=one:10m;
  server {{ listen 127.0.0.1:{port} backlog=4096;
    proxy_http_version 1.1; proxy_set_header Connection "";
    location / {{ proxy_pass http://up; }}
    location /cached {{ proxy_pass http://up; proxy_cache one; proxy_cache_valid any 1h; }} }}
"""


class Servers:
    def __init__(self, store="sqlite"):
        """`store`: the kind of a gateway's store, unless it is given one: sqlite or journal."""
        self.store = store
        self.dir = tempfile.mkdtemp(prefix="onceguard-bench-")
        self.running = []

    def __enter__(self):
        self.upstream = free_port()
        self.nginx("upstream", 1, UPSTREAM.format(port=self.upstream, pad="x" * 100), self.upstream)
        self.proxy = free_port()
        self.nginx("proxy", 1, PROXY, self.proxy)
        return self

    def nginx(self, name, workers, body, port):
        place = os.path.join(self.dir, name)
        os.makedirs(place)
        if body is PROXY:
            body = PROXY.format(dir=place, port=port, upstream=self.upstream)
        path = os.path.join(place, "nginx.conf")
        with open(path, "w", encoding="ascii") as file:
            # Started by root, its workers would not be let into a folder of root's.
            user = "user root;" if os.geteuid() == 0 else ""
            file.write(NGINX.format(user=user, workers=workers, dir=place, body=body))
        self.start([shutil.which("nginx") or "/usr/sbin/nginx", "-p", place, "-c", path], port)

    def start(self, command, port):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append(process)
        wait_for(port, process)
        return process

    def store_url(self, name):
        return f"{self.store}:" + os.path.join(self.dir, f"{name}.{self.store}")

    def gateway(self, name, *flags, store=None, level="error", binary=None):
        port = free_port()
        store = store or self.store_url(name)
        process = self.start([binary or BINARY, "gateway", "--listen", f"127.0.0.1:{port}",
                              "--upstream", f"http://127.0.0.1:{self.upstream}", "--store", store,
                              "--threads", "1", "--log-level", level, *flags], port)
        return port, process

    def __exit__(self, *_):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)
