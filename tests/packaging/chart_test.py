"""The Helm chart and the manifests rendered from it: schemas, rules, and what they refuse."""

import json
import subprocess
import tomllib

import jsonschema
import pytest
import yaml

from support.charts import MODES, TOOL
from support.node import NODE, TESTS
from support.pods import container_of, one, pod_of


def complaints(objects):
    """What the schemas of Kubernetes have to say, for each object."""
    done = subprocess.run([NODE, TESTS / "support/kubernetes_schema.mjs"], text=True, check=True,
                          input="\n".join(map(json.dumps, objects)), stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def toml_of(objects):
    return one(objects, "ConfigMap")["data"]["onceguard.toml"]


# ---- what is rendered -------------------------------------------------------------------------

def test_the_manifests_are_those_of_the_chart(render):
    assert MODES == sorted(path.stem for path in TOOL.MANIFESTS.glob("*.yaml"))
    for mode in MODES:
        wanted = TOOL.manifest(render.program, TOOL.MANIFESTS / f"values/{mode}.yaml")
        shown = (TOOL.MANIFESTS / f"{mode}.yaml").read_text()
        assert shown == wanted, "packaging/chart/render.py --write"


EVERYTHING = {
    "gateway": {"max_buffered": "128MiB"}, "env": [{"name": "A", "value": "b"}],
    "image": {"digest": "sha256:" + "0" * 64}, "secrets": {"jwks": "my-jwks"},
    "networkPolicy": {"egress": [{"to": [{"podSelector": {"matchLabels": {"app": "shop"}}}]}]},
    "podLabels": {"team": "shop"}, "podAnnotations": {"a/b": "c"},
    "pod": {"nodeSelector": {"disk": "ssd"}, "serviceAccountName": "shop",
            "topologySpreadConstraints": []},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"},
                       "tokenSecret": {"name": "onceguard-metrics"}},
}


@pytest.mark.parametrize("mode", MODES)
def test_kubernetes_knows_each_object_and_each_field(render, mode):
    for values in ({}, EVERYTHING):
        objects = render(mode, **values)
        assert complaints(objects) == [[] for _ in objects]


def test_a_field_that_kubernetes_does_not_know_is_noticed(render):
    deployment = one(render("gateway"), "Deployment")
    deployment["spec"]["replicaCount"] = 2
    container_of(pod_of(deployment), "onceguard")["ports"][0]["containerPort"] = "8080"
    (said,) = complaints([deployment])
    assert "containerPort must be integer" in said[0]
    container_of(pod_of(deployment), "onceguard")["ports"][0]["containerPort"] = 8080
    assert complaints([deployment]) == [["/spec/replicaCount: there is no such field"]]


@pytest.mark.parametrize("mode", MODES)
def test_what_selects_pods_selects_these_and_ports_are_there(render, mode):
    objects = render(mode, serviceMonitor={"enabled": True, "tokenSecret": {"name": "t"}})
    template = one(objects, "Deployment")["spec"]["template"]
    labels = template["metadata"]["labels"].items()
    ports = {p["containerPort"] for p in container_of(template["spec"], "onceguard")["ports"]}
    services = [each for each in objects if each["kind"] == "Service"]
    assert len(services) == (1 if mode == "consume" else 2)
    for service in services:
        assert service["spec"]["selector"].items() <= labels
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for kind in ("PodDisruptionBudget", "Deployment"):
        assert one(objects, kind)["spec"]["selector"]["matchLabels"].items() <= labels
    policy = one(objects, "NetworkPolicy", "onceguard")["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels
    opened = {port["port"] for rule in policy.get("ingress", []) for port in rule["ports"]}
    assert opened <= ports and (8080 in opened) == (mode != "consume")
    monitor = one(objects, "ServiceMonitor")["spec"]
    wanted = monitor["selector"]["matchLabels"].items()
    matched = [each for each in services if wanted <= each["metadata"]["labels"].items()]
    assert [port["name"] for service in matched for port in service["spec"]["ports"]] == ["admin"]
    assert monitor["endpoints"][0]["port"] == "admin"


@pytest.mark.parametrize("mode", MODES)
def test_containers_are_restricted(render, mode):
    """The Pod Security Standard `restricted`, and a root that can't be written."""
    objects = render(mode)
    for workload in (each for each in objects if each["kind"] in ("Deployment", "Job")):
        pod = pod_of(workload)
        assert pod["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        kinds = {kind for volume in pod["volumes"] for kind in volume} - {"name"}
        assert kinds <= {"configMap", "secret", "emptyDir", "persistentVolumeClaim"}
        for container in pod.get("initContainers", []) + pod["containers"]:
            if container["name"] == "shop":
                continue
            confined = container["securityContext"]
            assert confined["runAsNonRoot"] and confined["runAsUser"] == 65532
            assert confined["allowPrivilegeEscalation"] is False
            assert confined["readOnlyRootFilesystem"] is True
            assert confined["capabilities"] == {"drop": ["ALL"]}
            assert confined["seccompProfile"] == {"type": "RuntimeDefault"}
            assert "limits" in container.get("resources", {}) or workload["kind"] == "Job"


@pytest.mark.parametrize("delay,seconds,app", [(10, 60, 30), (0, 90, 5), (45, 120, 120)])
@pytest.mark.parametrize("mode", MODES)
def test_the_grace_period_fits_the_drain(render, mode, delay, seconds, app):
    objects = render(mode, appSeconds=app, drain={"delaySeconds": delay, "seconds": seconds})
    pod = pod_of(one(objects, "Deployment"))
    gateway = tomllib.loads(toml_of(objects))["gateway"]
    grace = pod["terminationGracePeriodSeconds"]
    if mode == "consume":
        assert not {"drain", "drain_delay", "listen"} & set(gateway)
        assert grace > seconds
        return
    assert gateway["drain"] == f"{seconds}s"
    if mode != "sidecar":
        assert gateway["drain_delay"] == f"{delay}s"
        assert grace > delay + seconds
        return
    # The application gets its SIGTERM after the delay, and the sidecar after its end.
    (shop,) = pod["containers"]
    (sidecar,) = pod["initContainers"]
    assert sidecar["restartPolicy"] == "Always" and sidecar["startupProbe"]
    assert shop["lifecycle"]["preStop"] == {"sleep": {"seconds": delay}}
    assert gateway["drain_delay"] == "0s"
    assert grace > delay + app + seconds


def test_a_change_of_the_configuration_makes_other_pods(render):
    def sums(**values):
        objects = render("gateway", **values)
        return one(objects, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert sums() == sums(replicas=7)
    assert sums() != sums(drain={"seconds": 61})
    assert sums() != sums(store={"options": {"timeout": "3s"}})


def test_a_file_is_never_shared(render):
    objects = render("single")
    assert one(objects, "Deployment")["spec"]["strategy"]["type"] == "Recreate"
    claim = one(objects, "PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


# ---- what is refused --------------------------------------------------------------------------

@pytest.mark.parametrize("mode,values,said", [
    ("single", {"replicas": 2}, "sqlite is one file of one pod"),
    ("sidecar", {"store": {"kind": "sqlite"}}, "sqlite is one file of one pod"),
    ("gateway", {"store": {"secret": {"name": ""}}}, "store.secret.name: the Secret"),
    ("gateway", {"store": {"url": "postgresql://a:b@db/x"}}, "a password belongs into a Secret"),
    ("gateway", {"gateway": {"drain": "5s"}}, "gateway.drain: the chart sets it"),
    ("gateway", {"gateway": {"admin": ""}}, "gateway.admin: the chart sets it"),
    ("gateway", {"admin": {"tokenSecret": {"name": ""}}}, "create secret generic onceguard-admin"),
    ("gateway", {"serviceMonitor": {"tokenSecret": {"name": ""}}}, "the token of a viewer"),
    ("gateway", {"image": {"repository": ""}}, "./dev image"),
    ("gateway", {"config": ""}, "[[upstream]]"),
    ("sidecar", {"app": None}, "the container that the sidecar stands before"),
])
def test_what_can_not_go_well_is_refused(render, mode, values, said):
    refusal = render(mode, **values)
    assert isinstance(refusal, str), "it was rendered"
    assert said in refusal


def test_values_have_a_schema():
    schema = json.loads((TOOL.CHART / "values.schema.json").read_text())
    valid = jsonschema.Draft7Validator(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    defaults = yaml.safe_load((TOOL.CHART / "values.yaml").read_text())
    valid.validate(defaults)
    assert set(defaults) == set(schema["properties"]) - {"global"}
    for path in (TOOL.MANIFESTS / "values").glob("*.yaml"):
        valid.validate(yaml.safe_load(path.read_text()))
    valid.validate(EVERYTHING)
    for wrong in ({"replica": 1}, {"mode": "proxy"}, {"replicas": "2"},
                  {"drain": {"seconds": "60s"}},
                  {"store": {"kind": "mysql"}}, {"store": {"url": "sqlite:/data/keys.db"}},
                  {"store": {"volume": {"accessMode": "ReadWriteMany"}}},
                  {"pod": {"containers": []}}, {"image": {"digest": "sha256:abc"}}):
        assert not valid.is_valid(wrong), wrong


def test_the_chart_has_the_version_of_the_program(onceguard):
    said = subprocess.run([onceguard, "--version"], capture_output=True, text=True, check=True)
    about = yaml.safe_load((TOOL.CHART / "Chart.yaml").read_text())
    assert about["appVersion"] == about["version"] == said.stdout.split()[1]
