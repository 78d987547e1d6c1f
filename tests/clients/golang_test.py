"""The Go client: its own tests, and its examples on net/http and Gin behind `onceguard serve`."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from clients.serving import amid_kills, answered, final, share_of_kills
from clients.upgrading import CONFIG as UPGRADED, answers_through_an_upgrade
from support.client import ask
from support.ports import Port
from support.waiting import SCALE

GO = pathlib.Path(__file__).resolve().parents[2] / "clients/go"
DEBIAN = "/usr/share/gocode"  # where Debian's packages of Go libraries are


@pytest.fixture(scope="session")
def go_path(tmp_path_factory):
    """A GOPATH with the client in it: modules of Debian's Gin would need a network."""
    folder = tmp_path_factory.mktemp("gopath")
    (folder / "src").mkdir()
    (folder / "src/onceguard").symlink_to(GO)
    return folder


def go(*arguments, **variables):
    done = subprocess.run(["go", *arguments], cwd=GO, capture_output=True, text=True, timeout=550,
                          env={**os.environ, **variables}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def with_debian(go_path):
    return {"GO111MODULE": "off", "GOFLAGS": "", "GOPATH": f"{go_path}:{DEBIAN}"}


@pytest.fixture(scope="session")
def built(go_path):
    """Both examples, by name."""
    offline = {"GO111MODULE": "on", "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    go("build", "-o", str(go_path / "nethttp"), "./examples/nethttp", **offline)
    go("build", "-o", str(go_path / "gin"), "onceguard/examples/gin", **with_debian(go_path))
    return {name: go_path / name for name in ("nethttp", "gin")}


@pytest.fixture(params=["nethttp", "gin"])
def example(request, built):
    return [built[request.param]]


def test_the_client_does_as_a_scripted_service_says(go_path):
    race = ["-race"] if SCALE >= 1 else []
    environment = with_debian(go_path)
    for package in ("onceguard", "onceguard/onceguardgin", "onceguard/examples/conformance"):
        go("vet", package, **environment)
    environment["CGO_ENABLED"] = "1" if race else "0"
    go("test", *race, "-count=1", "onceguard", "onceguard/onceguardgin", **environment)


def test_the_code_is_formatted_and_short():
    files = [*GO.glob("*.go"), *GO.glob("onceguardgin/*.go")]
    done = subprocess.run(["gofmt", "-l", *map(str, GO.rglob("*.go"))], capture_output=True,
                          text=True, timeout=60, check=True)
    assert done.stdout == ""
    whole = "".join(re.sub(r"import \(.*?\n\)", "", file.read_text(), flags=re.DOTALL)
                    for file in files if not file.name.endswith("_test.go"))
    code = [line for line in whole.splitlines()
            if line.strip(" \t(){},;") and not line.lstrip().startswith("//")]
    assert len(code) < 560, "the client is to stay thin"


def test_the_example_conforms(start_serve, start_service, kit, example):
    service = start_service(example, start_serve())
    report = kit(service.url).report("--long-work", "3", "--jobs", "4")
    assert {case["name"]: case["differences"] for case in report["cases"]
            if not case["passed"] or case.get("skipped")} == {}


def test_a_payment_is_charged_once(start_serve, start_service, example, fresh_key):
    service = start_service(example, start_serve())
    key = fresh_key()
    first = service.post(key, body=b'{"amount":1000}', path="/payments")
    again = service.post(key, body=b'{"amount":1000}', path="/payments")
    assert (first.status, again.status) == (201, 201)
    assert (again.stored_part(), again.replayed) == (first.stored_part(), True)
    assert service.log().count("charging 1000") == 1
    other = service.post(key, body=b'{"amount":1001}', path="/payments")
    assert (other.status, other.problem) == (422, "key-reused")
    refused = service.post(fresh_key(), body=b'{"amount":-1}', path="/payments")
    assert refused.status == 400


def test_a_replay_is_byte_for_byte(start_serve, start_service, example, fresh_key):
    service = start_service(example, start_serve())
    for work in ({"bytes": True}, {"size": 500_000},
                 {"fields": [["Link", "<b>"], ["Link", "<a>"], ["X-A", ""]], "status": 202}):
        key = fresh_key()
        first, again = (service.post(key, work) for _ in range(2))
        assert again.stored_part() == first.stored_part()
        assert (first.replayed, again.replayed) == (False, True)
        assert service.effects()[key] == 1


def test_twins_run_once(start_serve, start_service, example, fresh_key):
    service = start_service(example, start_serve({"defaults": {"on_busy": "wait"}}))
    key = fresh_key()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.post(key, {"delay": 200}), range(8)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 7
    assert service.effects()[key] == 1


def test_it_has_one_record_with_a_gateway(start_serve, start_service, start_gateway, upstream,
                                          example, fresh_key):
    serve = start_serve()
    gateway = start_gateway(upstream, {"store": {"url": serve.store_url}})
    service = start_service(example, serve, {"ONCEGUARD_CLIENT_SERVICE": "shop"})

    def by_gateway(key, body):
        return ask(gateway.address, "POST", "/conformance", service.fields(key), body)

    def by_service(key, body):
        return service.post(key, body=body)
    for first, second in ((by_gateway, by_service), (by_service, by_gateway)):
        key = fresh_key()
        ran, again, other = first(key, b"1"), second(key, b"1"), second(key, b"2")
        assert (ran.status, ran.replayed) == (201, False)
        assert (again.stored_part(), again.replayed) == (ran.stored_part(), True)
        assert (other.status, other.problem) == (422, "key-reused")
        assert service.effects()[key] + upstream.runs(key) == 1


def test_without_the_service_nothing_runs(start_serve, start_service, example, fresh_key):
    serve = start_serve()
    service = start_service(example, serve)
    serve.kill()
    key = fresh_key()
    answer = service.post(key)
    assert (answer.status, answer.problem) == (503, "store-unreachable")
    assert answer.get("Retry-After") == "1"
    assert service.effects()[key] == 0
    serve.start()
    assert service.post(key).status == 201
    assert service.effects()[key] == 1


def test_an_open_client_runs_unguarded(start_serve, start_service, example, fresh_key):
    serve = start_serve()
    service = start_service(example, serve, {"ONCEGUARD_OPEN": "1"})
    serve.kill()
    key = fresh_key()
    assert [service.post(key).status for _ in range(2)] == [201, 201]
    assert service.effects()[key] == 2


def test_no_request_fails_while_the_service_is_upgraded(start_serve, start_service, example,
                                                        fresh_key):
    serve = start_serve(UPGRADED)
    answers_through_an_upgrade(serve, start_service(example, serve), fresh_key)


def test_serve_killed_amid_the_work_loses_nothing(start_serve, start_service, example, fresh_key):
    serve = start_serve({"defaults": {"lease": "2s"}})
    service = start_service(example, serve)
    key = fresh_key()
    client = service.begin_work(key, {"delay": 700})
    serve.kill()
    serve.start()
    first = answered(client)
    assert first.status == 201, "the settle is repeated until the service is back"
    assert final(service, key).stored_part() == first.stored_part()
    assert service.effects()[key] == 1
    amid_kills(serve, service, share_of_kills(200), fresh_key, 10)


def test_a_service_killed_amid_the_work_never_runs_it_twice(start_serve, start_service, example,
                                                            fresh_key):
    serve = start_serve({"defaults": {"lease": "1s"}})
    service = start_service(example, serve)
    key = fresh_key()
    client = service.begin_work(key, {"delay": 60_000})
    service.kill()
    answered(client)
    service.start()
    last = final(service, key, patience=10)
    assert (last.status, last.problem) == (409, "outcome-unknown")
    assert service.effects()[key] == 1
    amid_kills(service, service, share_of_kills(200), fresh_key, 10)


@pytest.mark.parametrize("name, starts_in", [("nethttp", "."), ("gin", "examples/gin")])
def test_the_readme_of_the_example_can_be_typed(onceguard, tmp_path, name, starts_in):
    shutil.copytree(GO, tmp_path / "go")
    text = (GO / "examples" / name / "README.md").read_text()
    typed = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
             if "go mod tidy" not in block]
    with contextlib.closing(Port()) as port:
        commands = "".join(typed).replace("8080", str(port.number)) \
            .replace("/tmp/onceguard.sock", f"{tmp_path}/s") \
            .replace("curl", "curl -sS --retry 60 --retry-delay 1 --retry-connrefused")
        again = commands.rpartition("curl")
        script = "trap 'kill $(jobs -p)' EXIT\nset -e\n" + commands + again[1] + again[2]
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path / "go" / starts_in, capture_output=True, text=True,
            timeout=300, check=False, env={**os.environ, "GOPROXY": "off",
                                           "PATH": f"{onceguard.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    first, _, second = done.stdout.partition("HTTP/1.1 201 Created")[2].partition("HTTP/1.1 201")
    assert '"charged":1000' in first and '"charged":1000' in second, done.stdout + done.stderr
    assert "Idempotent-Replayed: true" in second and "Idempotent-Replayed" not in first


def test_a_task_is_done_once(start_serve, go_path):
    serve = start_serve()
    go("build", "-o", str(go_path / "task"), "./examples/task", GO111MODULE="on", GOPROXY="off")

    def task(key, amount):
        done = subprocess.run(
            [go_path / "task", key, amount], capture_output=True, text=True, timeout=60,
            check=False, env={**os.environ, "ONCEGUARD_URL": serve.url})
        return done.returncode, done.stdout, done.stderr
    assert task("k", "5") == (0, "charged 5 false\n", "charging, attempt 1\n")
    assert task("k", "5") == (0, "charged 5 true\n", "")
    assert task("k", "6")[2].startswith("onceguard: mismatch: ")
    nothing = "nothing to charge: onceguard: nothing was done\n"
    assert task("free", "0") == (1, "", "charging, attempt 1\n" + nothing)
    assert task("free", "0") == (1, "", "charging, attempt 2\n" + nothing)
    serve.kill()
    assert task("k", "5")[2].startswith("onceguard: away: ")
