"""Proxies that others wrote, each between a gateway and its service, on a port and in a folder of
its own, with the settings that it comes with."""

import os
import socket
import subprocess

from support.ports import Port
from support.waiting import wait_until


class Proxy:
    """One process, which waits for its service for `patience`. A subclass writes its files."""

    def __init__(self, folder, service, patience="60s"):
        self.port = Port()
        self.url = f"http://127.0.0.1:{self.port.number}"
        self._log = open(folder / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            # Should this process die before it could, the proxy ends at once.
            ["setpriv", "--pdeathsig", "TERM", "--", *self.command(folder, service, patience)],
            cwd=folder, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=self._log, env={**os.environ, "HOME": str(folder)})
        try:
            wait_until(self._listens, what=f"{type(self).__name__} on {self.url}", timeout=30)
        except BaseException:
            self.close()
            raise

    def _listens(self):
        assert self.process.poll() is None, self.log()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port.number)) == 0

    def log(self):
        self._log.seek(0)
        return self._log.read()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
        self.port.close()

    def command(self, folder, service, patience):
        raise NotImplementedError


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


class Caddy(Proxy):
    """Go's net/http on both sides."""

    def command(self, folder, service, patience):
        file = written(folder / "Caddyfile", f"""{{
  admin off
  auto_https off
}}
http://:{self.port.number} {{
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:{service} {{
    transport http {{
      response_header_timeout {patience}
    }}
  }}
}}
""")
        return ["caddy", "run", "--config", file, "--adapter", "caddyfile"]


class Varnish(Proxy):
    def command(self, folder, service, patience):
        file = written(folder / "service.vcl", f"""vcl 4.1;
backend default {{
  .host = "127.0.0.1"; .port = "{service}"; .first_byte_timeout = {patience};
}}
sub vcl_recv {{ return (pass); }}
""")
        return ["varnishd", "-j", "none", "-F", "-a", f"127.0.0.1:{self.port.number}", "-f", file,
                "-n", str(folder / "work"), "-s", "malloc,16m", "-T", "none"]


class Haproxy(Proxy):
    def command(self, folder, service, patience):
        file = written(folder / "haproxy.cfg", f"""defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server {patience}
frontend all
  bind 127.0.0.1:{self.port.number}
  default_backend service
backend service
  server one 127.0.0.1:{service}
""")
        return ["haproxy", "-f", file]


class Nginx(Proxy):
    def command(self, folder, service, patience):
        file = written(folder / "nginx.conf", f"""daemon off;
master_process off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream service {{ server 127.0.0.1:{service}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{self.port.number};
    location / {{
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_read_timeout {patience};
    }}
  }}
}}
""")
        return ["nginx", "-p", str(folder), "-c", file]


PROXIES = {"caddy": Caddy, "varnish": Varnish, "haproxy": Haproxy, "nginx": Nginx}
