"""What the kubelet makes of a pod, for the containers of support/containers.py."""

import os
import pathlib

import yaml

SPEC = {"Deployment", "Job"}


def objects_of(text):
    return [each for each in yaml.safe_load_all(text) if each]


def one(objects, kind, name=None):
    """The one of its kind; where it has several, by the end of its name."""
    (found,) = [each for each in objects if each["kind"] == kind
                and (name is None or each["metadata"]["name"].endswith(name))]
    return found


def pod_of(workload):
    return workload["spec"]["template"]["spec"]


def container_of(pod, name):
    """The container, be it a sidecar or not."""
    (found,) = [each for each in pod.get("initContainers", []) + pod["containers"]
                if each["name"] == name]
    return found


def mode_of(volume):
    return volume.get("secret", {}).get("defaultMode", 0o644)


def texts_in(volume, objects, secrets):
    """The files of a volume of configuration or secrets; None of another one."""
    if "configMap" in volume:
        return one(objects, "ConfigMap", volume["configMap"]["name"])["data"]
    if "secret" in volume:
        has = secrets[volume["secret"]["secretName"]]
        items = volume["secret"].get("items") or [{"key": key, "path": key} for key in has]
        return {item["path"]: has[item["key"]] for item in items}
    return None


def mounted_files(objects, workload, name, secrets, folder):
    """{path in the container: file}, with the owner and the mode that the kubelet gives."""
    pod = pod_of(workload)
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    group, found = pod["securityContext"]["fsGroup"], {}
    for mount in container_of(pod, name).get("volumeMounts", []):
        volume = volumes[mount["name"]]
        for path, text in (texts_in(volume, objects, secrets) or {}).items():
            if mount.get("subPath", path) != path:
                continue
            target = mount["mountPath"] + ("" if "subPath" in mount else f"/{path}")
            file = pathlib.Path(folder, target.replace("/", "_"))
            file.write_text(text)
            file.chmod(mode_of(volume))
            os.chown(file, 0, group)
            found[target] = file
    return found
