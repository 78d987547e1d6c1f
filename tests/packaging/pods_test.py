"""What the chart makes, as the kubelet starts it: its configuration, its probes, its end."""

import pytest

from support.charts import MODES
from support.client import ask, fields_for
from support.containers import CONFIG, InNamespace
from support.expecting import assert_first, assert_replay_of
from support.pods import container_of, mounted_files, one, pod_of
from support.waiting import wait_until

TOKEN = "f00dcafe" * 4
SECRETS = {
    "onceguard-admin": {"tokens": f"viewer {TOKEN} prometheus\n"},
    "onceguard-store": {"url": "postgresql://onceguard@127.0.0.1:1/none"},
    "onceguard-orders": {"url": "amqp://127.0.0.1:1/orders"},
}


@pytest.mark.parametrize("mode", MODES)
def test_onceguard_takes_the_configuration_where_the_pod_has_it(render, image, volume, tmp_path,
                                                                 mode):
    for values in ({}, {"gateway": {"max_buffered": "128MiB", "listen": "[::]:8080"},
                        "store": {"options": {"timeout": "3s", "after_loss": "flag"}}}):
        if mode == "consume":
            values.get("gateway", {}).clear()
        objects = render(mode, **values)
        files = mounted_files(objects, one(objects, "Deployment"), "onceguard", SECRETS, tmp_path)
        done = InNamespace(image, volume, files=files).run("check", "--config", CONFIG)
        assert done.returncode == 0, done
        assert "warning" not in done.stdout + done.stderr, done


def test_a_pod_of_the_chart_lives(render, contain, own_upstream, postgres_server, tmp_path, key,
                                  ports):
    """The Job and the Deployment with a real PostgreSQL; the addresses alone are others."""
    own = {"ONCEGUARD_LISTEN": f"127.0.0.1:{ports[0]}", "ONCEGUARD_ADMIN": f"0.0.0.0:{ports[1]}"}
    database = postgres_server.create_database()
    secrets = {**SECRETS, "onceguard-store": {"url": postgres_server.url(database)}}
    objects = render("gateway", drain={"delaySeconds": 3}, config=(
        f'[[upstream]]\nname = "shop"\nurl = "{own_upstream.url}"\n'
        '[[route]]\npath = "/"\nupstream = "shop"\nrequired = true\n'))

    job, deployment = one(objects, "Job"), one(objects, "Deployment")
    migrate = container_of(pod_of(job), "migrate")
    files = mounted_files(objects, job, "migrate", secrets, tmp_path)
    done = contain(started=False, files=files).run(*migrate["args"])
    assert done.returncode == 0, done

    container = container_of(pod_of(deployment), "onceguard")
    files = mounted_files(objects, deployment, "onceguard", secrets, tmp_path)
    running = contain(command=container["args"], files=files, environment=own)

    def probe(name):
        get = container[name]["httpGet"]
        try:
            return ask(("127.0.0.1", ports[1]), "GET", get["path"]).status
        except OSError:
            return None

    wait_until(lambda: probe("readinessProbe") == 200, 60, "the pod being ready")
    assert probe("livenessProbe") == probe("startupProbe") == 200
    assert ask(("127.0.0.1", ports[1]), "GET", "/metrics").status == 401
    credentials = [("Authorization", f"Bearer {TOKEN}")]
    assert ask(("127.0.0.1", ports[1]), "GET", "/metrics", credentials).status == 200

    def post(name):
        return ask(("127.0.0.1", ports[0]), "POST", "/charges", fields_for(name), b"x")

    first = assert_first(post(key))
    assert_replay_of(post(key), first)
    running.terminate()
    # It leaves the Service, and still takes what comes meanwhile.
    wait_until(lambda: probe("readinessProbe") == 503, 20, "the pod not being ready")
    assert probe("livenessProbe") == 200
    assert_first(post(f"{key}-late"))
    assert running.wait() == 0
    assert own_upstream.effects() == {key: 1, f"{key}-late": 1}
