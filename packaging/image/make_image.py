#!/usr/bin/env python3
"""Makes the container image: make_image.py PROGRAM FILE.

The image has the program, the shared libraries that it needs or may load, certificates, and no
shell. FILE is a tar that `podman load`, `docker load`, `skopeo copy oci-archive:FILE …` and
`ctr image import` take: an OCI layout, and what Docker asks for beside it. It is made without
root, without a daemon and without a registry, and equal inputs make equal bytes.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
USER = 65532  # `nonroot`, as in other images without a shell
STATE = "var/lib/onceguard"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
FILES = {  # of the machine that makes the image
    "etc/ssl/certs/ca-certificates.crt": "ca-certificates",
    "etc/os-release": "base-files",
}
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/:/nologin\n"
                  f"nonroot:x:{USER}:{USER}:nonroot:/{STATE}:/nologin\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
LINKS = {  # as Debian has them
    "bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin",
    "usr/lib/ssl/cert.pem": "/etc/ssl/certs/ca-certificates.crt",
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# ---- what goes into it ------------------------------------------------------------------------

def libraries_of(file):
    """What the loader needs for it, as the paths that it finds."""
    lines = output_of("ldd", file)
    if "not found" in lines:
        raise SystemExit(f"make_image: {file} lacks a library:\n{lines}")
    return set(re.findall(r"(/\S+) \(0x", lines))


def late_libraries(program, needed):
    """What the program loads when a URL asks for it: it has their names."""
    folder = next(pathlib.Path(path).parent for path in needed if "/libc.so" in path)
    at_start = {os.path.basename(path) for path in needed}
    names = set(re.findall(rb"\0(lib[\w+-]+\.so\.[\d.]+)(?=\0)", program.read_bytes()))
    late = [folder / name.decode() for name in sorted(names) if name.decode() not in at_start]
    for path in late:
        if not path.exists():
            raise SystemExit(f"make_image: {program} may load {path.name}, which is not installed")
    return map(str, late)


def all_libraries(program):
    found = libraries_of(program)
    for late in late_libraries(program, set(found)):
        found |= {late} | libraries_of(late)
    return sorted(found)


class Layer:
    """A tar whose bytes are told by what is in it alone."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.entries = {}

    def add(self, path, data=None, mode=0o644, link=None, owner=0):
        entry = tarfile.TarInfo(path)
        entry.mtime, entry.mode, entry.uid, entry.gid = self.epoch, mode, owner, owner
        if link:
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, link, 0o777
        elif data is None:
            entry.type = tarfile.DIRTYPE
        else:
            entry.size = len(data)
        for folder in pathlib.PurePath(path).parents:
            if str(folder) != "." and str(folder) not in self.entries:
                self.add(str(folder), mode=0o755)
        self.entries[path] = (entry, data)

    def bytes(self):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for _, (entry, data) in sorted(self.entries.items()):
                tar.addfile(entry, io.BytesIO(data or b""))
        return made.getvalue()


def place(layer, path):
    """A file where the loader looks for it, and the link that leads there."""
    # /lib and /lib64 are links into /usr.
    link, real = (re.sub(r"^/(lib\w*/)", r"/usr/\1", p) for p in (path, os.path.realpath(path)))
    layer.add(real[1:], pathlib.Path(real).read_bytes(), 0o755)
    if link != real:
        same = os.path.dirname(link) == os.path.dirname(real)
        layer.add(link[1:], link=os.path.basename(real) if same else real)
    return real


def packages_of(paths):
    """Their packages. Files that came before /usr was one are listed without it."""
    both = [name for path in paths for name in (path, path.removeprefix("/usr"))]
    done = subprocess.run(["dpkg-query", "-S", *both], capture_output=True, text=True, check=False)
    owners = dict(reversed(line.split(": ")) for line in done.stdout.splitlines())
    unknown = [path for path in paths
               if path not in owners and path.removeprefix("/usr") not in owners]
    if unknown:
        raise SystemExit(f"make_image: no package has {', '.join(unknown)}")
    return {package.split(":")[0] for package in owners.values()}


def debian_layer(program, epoch):
    """The libraries, certificates and names, with what scanners and licences ask for."""
    layer = Layer(epoch)
    for path, target in LINKS.items():
        layer.add(path, link=target)
    for path, text in TEXTS.items():
        layer.add(path, text.encode())
    for path in ("dev", "proc", "sys"):  # what a runtime mounts there
        layer.add(path, mode=0o755)
    layer.add("tmp", mode=0o1777)
    for path in FILES:
        layer.add(path, pathlib.Path("/", path).read_bytes())
    placed = [place(layer, library) for library in all_libraries(program)]
    packages = sorted(packages_of(placed) | set(FILES.values()))
    for entry in output_of("dpkg-query", "-s", *packages).strip().split("\n\n"):
        name = re.match(r"Package: (\S+)", entry)[1]
        layer.add(f"var/lib/dpkg/status.d/{name}", f"{entry}\n".encode())
        notice = pathlib.Path("/usr/share/doc", name, "copyright")
        layer.add(str(notice)[1:], notice.read_bytes())
    return layer


def program_layer(program, epoch):
    layer = Layer(epoch)
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder, "onceguard")
        output_of("strip", "--strip-unneeded", "-o", stripped, program)
        layer.add("usr/bin/onceguard", stripped.read_bytes(), 0o755)
    layer.add("etc/onceguard/onceguard.toml", (HERE / "onceguard.toml").read_bytes())
    layer.add("usr/share/doc/onceguard/copyright", (HERE.parents[1] / "LICENSE").read_bytes())
    layer.add(STATE, mode=0o750, owner=USER)
    return layer


# ---- the image --------------------------------------------------------------------------------

def configuration(version, epoch, layers):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    second = 1_000_000_000
    return {
        "architecture": ARCHITECTURES[os.uname().machine], "os": "linux", "created": created,
        "config": {
            "User": f"{USER}:{USER}", "WorkingDir": f"/{STATE}", "StopSignal": "SIGTERM",
            "Env": ["PATH=/usr/bin"], "ExposedPorts": {"8080/tcp": {}},
            "Volumes": {f"/{STATE}": {}},
            "Entrypoint": ["/usr/bin/onceguard"],
            "Cmd": ["gateway", "--config", "/etc/onceguard/onceguard.toml"],
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/onceguard", "health", "--admin", "127.0.0.1:8081"],
                "Interval": 10 * second, "Timeout": 5 * second, "StartPeriod": 10 * second,
                "Retries": 3},
            "Labels": {"org.opencontainers.image.title": "onceguard",
                       "org.opencontainers.image.version": version,
                       "org.opencontainers.image.licenses": "Apache-2.0"}},
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]},
        "history": [{"created": created, "created_by": f"make_image.py: {name}"}
                    for name in ("libraries", "program")]}


def archive(version, epoch, layers):
    """The layout, and the digest that names the image."""
    files = Layer(epoch)

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        files.add(f"blobs/sha256/{digest}", data)
        return {"mediaType": f"application/vnd.oci.image.{kind}",
                "digest": f"sha256:{digest}", "size": len(data)}

    def as_json(value):
        return json.dumps(value, sort_keys=True).encode()

    packed = [blob(gzip.compress(layer, 6, mtime=0), "layer.v1.tar+gzip") for layer in layers]
    config = blob(as_json(configuration(version, epoch, layers)), "config.v1+json")
    manifest = blob(as_json({"schemaVersion": 2, "config": config, "layers": packed,
                             "mediaType": "application/vnd.oci.image.manifest.v1+json"}),
                    "manifest.v1+json")
    name = f"localhost/onceguard:{version}"
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version,
                               "io.containerd.image.name": name}

    def path(entry):
        return "blobs/sha256/" + entry["digest"].removeprefix("sha256:")

    files.add("oci-layout", as_json({"imageLayoutVersion": "1.0.0"}))
    files.add("index.json", as_json({"schemaVersion": 2, "manifests": [manifest]}))
    files.add("manifest.json", as_json([{
        "Config": path(config), "RepoTags": [name],
        "Layers": [path(layer) for layer in packed]}]))
    return files.bytes(), manifest["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    asked = parser.parse_args()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or 0)
    version = output_of(asked.program, "--version").split()[1]
    layers = [make(asked.program, epoch).bytes() for make in (debian_layer, program_layer)]
    data, digest = archive(version, epoch, layers)
    asked.file.parent.mkdir(parents=True, exist_ok=True)
    asked.file.write_bytes(data)
    size, packed = sum(map(len, layers)) / 1e6, len(data) / 1e6
    print(f"{asked.file}: localhost/onceguard:{version}, {size:.1f} MB, {packed:.1f} MB packed")
    print(digest)


if __name__ == "__main__":
    main()
