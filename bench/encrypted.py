"""Pass-through with TLS on both sides, beside nginx doing the same."""
import os
import subprocess

from side_by_side import compare

UPSTREAM = """
  server {{ listen 127.0.0.1:{port} ssl backlog=4096;
    ssl_certificate {pem}; ssl_certificate_key {key};
    keepalive_requests 100000000; default_type application/json;
    location / {{ return 201 '{{"id":"ch_1","amount":500,"note":"{pad}"}}'; }} }}
"""

PROXY = """
  upstream up {{ server 127.0.0.1:{upstream}; keepalive 128; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:{port} ssl backlog=4096;
    ssl_certificate {pem}; ssl_certificate_key {key};
    keepalive_requests 100000000; proxy_http_version 1.1; proxy_set_header Connection "";
    location / {{ proxy_pass https://up; proxy_ssl_verify on; proxy_ssl_name localhost;
      proxy_ssl_server_name on; proxy_ssl_trusted_certificate {pem}; }} }}
"""

CONFIG = """
[gateway]
listen = "127.0.0.1:{port}"
threads = 1
tls_certificate = "{pem}"
tls_key = "{key}"
[store]
url = "sqlite:{dir}/tls.db"
[log]
level = "error"
[[upstream]]
name = "up"
url = "https://127.0.0.1:{upstream}"
tls_ca = "{pem}"
tls_name = "localhost"
"""


def make_certificate(folder):
    pem, key = os.path.join(folder, "tls.pem"), os.path.join(folder, "tls.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", pem,
                    "-keyout", key], check=True, capture_output=True)
    return {"pem": pem, "key": key}


def measure_encrypted(servers, rounds, seconds, wrk, free_port, binary):
    files = make_certificate(servers.dir)
    upstream, proxy, gateway = free_port(), free_port(), free_port()
    servers.nginx("tls-upstream", 1, UPSTREAM.format(port=upstream, pad="x" * 100, **files),
                  upstream)
    servers.nginx("tls-proxy", 1, PROXY.format(port=proxy, upstream=upstream, **files), proxy)
    path = os.path.join(servers.dir, "tls.toml")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(port=gateway, upstream=upstream, dir=servers.dir, **files))
    servers.start([binary, "gateway", "--config", path], gateway)
    print(f"{'requests per second, 64 connections':<46} "
          f"{'onceguard':>9} {'nginx':>9} {'ratio':>7}   goal      stolen")
    compare("pass-through, TLS on both sides", rounds,
            lambda: wrk(gateway, "plain.lua", seconds, scheme="https"),
            lambda: wrk(proxy, "plain.lua", seconds, scheme="https"), ">= 0.75")
