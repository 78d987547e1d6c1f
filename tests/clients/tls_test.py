"""The clients over TLS, with a certificate of their own: a decision service that asks for one."""

import os
import subprocess

import pytest

from clients.golang_test import go, go_path, with_debian  # noqa: F401
from clients.node_programs import handlers_folder
from clients.python_examples import CLIENT, PYTHON
from support.certificates import Authority
from support.gateway import clean_environment

# Each does one operation for the key in KEY, and prints "done" when it has its answer.
NODE = """
import { readFileSync } from 'node:fs';
import { connect } from 'onceguard';

const { ONCEGUARD_URL: url, KEY: key, CA, CERTIFICATE, PRIVATE } = process.env;
const tls = { ca: readFileSync(CA) };
if (CERTIFICATE) tls.cert = readFileSync(CERTIFICATE);
if (CERTIFICATE) tls.key = readFileSync(PRIVATE);
const client = connect({ url, tls, timeout: 600_000, wait: 0 });
const operation = { scope: 'shop', key, fingerprint: 'a charge' };
console.log(await client.execute(operation, () => { console.log('charging'); return 'done'; }));
client.close();
"""
PYTHON_PROGRAM = """
import os, ssl
import onceguard

tls = ssl.create_default_context(cafile=os.environ["CA"])
if os.environ.get("CERTIFICATE"):
    tls.load_cert_chain(os.environ["CERTIFICATE"], os.environ["PRIVATE"])
client = onceguard.Client(os.environ["ONCEGUARD_URL"], tls=tls, timeout=600, wait=0)

@client.once(scope="shop", key=lambda order: order)
def charge(order):
    print("charging")
    return "done"

print(charge(os.environ["KEY"]))
"""
GO = """
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"time"

	"onceguard"
)

func main() {
	pem, _ := os.ReadFile(os.Getenv("CA"))
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if name := os.Getenv("CERTIFICATE"); name != "" {
		pair, err := tls.LoadX509KeyPair(name, os.Getenv("PRIVATE"))
		if err != nil {
			log.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client, err := onceguard.New(os.Getenv("ONCEGUARD_URL"), onceguard.TLS(config),
		onceguard.Timeout(10*time.Minute), onceguard.Wait(0))
	if err != nil {
		log.Fatal(err)
	}
	operation := onceguard.Operation{Scope: "shop", Key: os.Getenv("KEY")}
	operation.Fingerprint = []byte("a charge")
	answer, err := client.Do(context.Background(), operation,
		func(_ context.Context, _ *onceguard.Running) (onceguard.Answer, error) {
			fmt.Println("charging")
			return onceguard.Answer{Body: []byte("done")}, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.Body))
}
"""


@pytest.fixture(params=["node", "python", "go"])
def program(request, tmp_path):
    """The command of the program in this language."""
    if request.param == "node":
        file = handlers_folder(tmp_path) / "tls.mjs"
        file.write_text(NODE)
        return ["node", file]
    if request.param == "python":
        return [PYTHON, "-c", PYTHON_PROGRAM]
    path = request.getfixturevalue("go_path")
    folder = path / "src/tlsonce"
    folder.mkdir()
    (folder / "main.go").write_text(GO)
    go("build", "-o", str(path / "tlsonce"), "tlsonce", **with_debian(path))
    return [path / "tlsonce"]


def test_a_certificate_of_the_authority_lets_it_in(start_serve, program, tmp_path, fresh_key):
    authority = Authority(tmp_path / "authority")
    certificate, private = authority.issue("serve")
    serve = start_serve({"serve": {"tls_certificate": certificate, "tls_key": private,
                                   "tls_client_ca": authority.file}}, tcp=True)
    key = fresh_key()

    def call(pair, ca=authority.file):
        environment = {
            **clean_environment(), "PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT),
            "PYTHONDONTWRITEBYTECODE": "1", "ONCEGUARD_URL": serve.url.replace("http:", "https:"),
            "KEY": key, "CA": ca, "CERTIFICATE": pair[0], "PRIVATE": pair[1]}
        done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False,
                              env=environment)
        return done.returncode, done.stdout

    # What lasts ends at once, and not with the time for a service that is away.
    own = authority.issue("shop")
    stranger = Authority(tmp_path / "stranger")
    for refused in (("", ""), stranger.issue("shop")):
        code, said = call(refused)
        assert code != 0 and said == "", "it ran without a certificate"
    # Nor does it talk to whoever shows a certificate of another authority.
    code, said = call(own, ca=stranger.file)
    assert code != 0 and said == ""
    assert call(own) == (0, "charging\ndone\n")
    assert call(own) == (0, "done\n")
