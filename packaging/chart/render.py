#!/usr/bin/env python3
"""Renders the chart as `helm template` does: render.py VALUES..., or the plain manifests of
packaging/kubernetes: render.py --write.

Debian has no Helm. tests/support/helm_template is made of the libraries that Helm is made of.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "packaging/chart/onceguard"
MANIFESTS = ROOT / "packaging/kubernetes"
HEADER = "# Made from packaging/chart with values/{name} by packaging/chart/render.py --write.\n"


def renderer():
    """Built where it is not up to date."""
    program = ROOT / "build/helm_template"
    program.parent.mkdir(exist_ok=True)
    subprocess.run(["go", "build", "-o", program, "."], check=True,
                   cwd=ROOT / "tests/support/helm_template",
                   env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                        "GOFLAGS": "", "GOCACHE": str(ROOT / "build/go-cache")})
    return program


def render(program, values, release="onceguard", namespace="default", chart=CHART):
    return subprocess.run([program, chart, release, namespace, *values],
                          capture_output=True, text=True, check=False)


def manifest(program, values):
    done = render(program, [values])
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return HEADER.format(name=values.name) + done.stdout


def main(arguments):
    program = renderer()
    if arguments != ["--write"]:
        done = render(program, arguments)
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        return done.returncode
    for values in sorted((MANIFESTS / "values").glob("*.yaml")):
        (MANIFESTS / values.name).write_text(manifest(program, values))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
