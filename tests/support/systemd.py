"""systemd as process 1 of namespaces of its own, with a service and its socket."""

import pathlib
import subprocess

from support.waiting import wait_until

SERVICE = """[Unit]
DefaultDependencies=no
StartLimitIntervalSec=0
[Service]
Type=notify
NotifyAccess=main
WatchdogSec=30
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
TimeoutStopSec=90
Restart=on-failure
StandardOutput=append:{log}
StandardError=append:{log}
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
PrivateUsers=yes
ProtectProc=invisible
ProtectClock=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
PrivateDevices=yes
RemoveIPC=yes
UMask=0077
ProtectSystem=strict
ReadWritePaths={folder}
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
"""
SOCKET = """[Unit]
DefaultDependencies=no
[Socket]
ListenStream={address}
FileDescriptorName=gateway
"""
TARGET = """[Unit]
DefaultDependencies=no
Wants=og.socket og.service
"""
BOOT = """
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/lock
cp {units}/* /run/systemd/system/
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
export container=other
exec /lib/systemd/systemd --system --unit=og.target --log-target=null --show-status=no
"""


class Systemd:
    """Needs root, and a kernel that lets it make namespaces and mount in them."""

    def __init__(self, gateway):
        """Of a gateway that was not started."""
        units = gateway.folder / "units"
        units.mkdir()
        command = f"{gateway.binary} gateway --config {gateway.config_path}"
        (units / "og.service").write_text(SERVICE.format(
            command=command, log=gateway.log_path, folder=gateway.folder))
        (units / "og.socket").write_text(SOCKET.format(
            address=f"127.0.0.1:{gateway.port.number}"))
        (units / "og.target").write_text(TARGET)
        self.process = subprocess.Popen(
            ["unshare", "-m", "-p", "-f", "-u", "-i", "-C", "--mount-proc", "--kill-child", "bash",
             "-c", BOOT.format(units=units)], stdin=subprocess.DEVNULL)
        self.first = int(wait_until(self._children, what="process 1").split()[0])
        wait_until(lambda: self.state() == "active", 20, "the service")

    def close(self):
        self.process.kill()
        self.process.wait()

    def _children(self):
        number = self.process.pid
        return pathlib.Path(f"/proc/{number}/task/{number}/children").read_text()

    def control(self, *words):
        done = subprocess.run(
            ["nsenter", "-t", str(self.first), "-m", "-p", "-C", "systemctl", *words],
            capture_output=True, text=True, timeout=120, check=False)
        return done.stdout.strip()

    def state(self):
        return self.control("is-active", "og.service")

    def shown(self, name):
        return self.control("show", "-p", name, "--value", "og.service")
