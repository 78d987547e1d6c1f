"""Serves as the unit says: served.py ROOT KEY... in a mount and a network namespace of its own.

Starts a service on 127.0.0.1:9000 that counts its charges, and the gateway of the Debian in ROOT
as onceguard-gateway.service has it: its command, its user, its working directory. Sends each key
twice, ends the gateway by SIGTERM, and prints what came of it as JSON. With "-" for ROOT, somebody
else runs the gateway.
"""

import http.client
import http.server
import json
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

PATIENCE = 60


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    charges = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Service.charges += 1
        body = f"charge {Service.charges}".encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def unit_of(root, name):
    """The last value of each setting."""
    lines = (root / "lib/systemd/system" / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and line[0] not in "#[")


def charge(key):
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=PATIENCE)
    connection.request("POST", "/charges", b'{"amount":4200}',
                       {"Idempotency-Key": key, "Authorization": "Bearer ada"})
    answer = connection.getresponse()
    said = [answer.status, answer.read().decode(), answer.getheader("Idempotent-Replayed")]
    connection.close()
    return said


def listens(process):
    """Waits for the port; false: the process has ended."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", 8080)) == 0:
                return True
        time.sleep(0.05)
    return False


def sent(keys):
    return [[charge(key), charge(key)] for key in keys]


def start(root):
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    subprocess.run(["mount", "--rbind", "/dev", root / "dev"], check=True)
    unit = unit_of(root, "onceguard-gateway.service")
    return subprocess.Popen(
        ["chroot", f"--userspec={unit['User']}:{unit['Group']}", root, "env", "-i",
         f"--chdir={unit['WorkingDirectory']}", *unit["ExecStart"].split()],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    root, keys = sys.argv[1], sys.argv[2:]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 9000), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    said = {"answers": []}
    if root == "-":
        said["answers"] = sent(keys)
    else:
        gateway = start(pathlib.Path(root))
        if listens(gateway):
            said["answers"] = sent(keys)
            gateway.send_signal(signal.SIGTERM)
        said["log"], _ = gateway.communicate(timeout=PATIENCE)
        said["exit"] = gateway.returncode
    print(json.dumps({**said, "charges": Service.charges}))


if __name__ == "__main__":
    main()
