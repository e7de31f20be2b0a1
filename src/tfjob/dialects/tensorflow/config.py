"""The controller config file, with which an administrator configures all TfJobs.

The input is parsed YAML with case-insensitive keys; all faults are reported. This module opens no
files: the caller reads the one that the config may refer to.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import CleanPolicy
from tfjob.dialects.base import Settings
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.tensorflow.key_aliases import normalised
from tfjob.k8s import field
from tfjob.k8s.field import Fault

FLAG = "controller-config-file"
FILE_NAMES = ("controller_config_file.yaml", "controller-config-file.yaml")
"""File names to look for in a folder; the first that exists is read."""
ROOT = "controller config"
_KEYS = ("accelerators", "grpcServerFilePath", "tfImage", "v1alpha1")
_MODES = ("cleanPodPolicy", "naming", "replicaWorkload", "serviceMode")
_ACCELERATOR = ("envVars", "volumes")
_VOLUME = ("hostPath", "mountPath", "name")
_VARIABLE = ("name", "value")
_NAMINGS = ("seed", "jobPrefixed")
_SERVICES = ("headless", "clusterIP")
_WORKLOADS = ("job",)


class Accelerator(msgspec.Struct, frozen=True):
    """What is added to a container that requests a resource."""

    volumes: Sequence[Mapping[str, str]] = ()
    """Each with `name`, `mountPath` and `hostPath`."""
    env: Sequence[Mapping[str, str]] = ()


class ControllerConfig(msgspec.Struct, frozen=True):
    """The contents of the controller config file."""

    tf_image: str = ""
    server_source: str = ""
    """The program of default parameter servers; empty for the built-in one."""
    accelerators: Mapping[str, Accelerator] = {}
    has_job_in_names: bool = False
    has_cluster_ips: bool = False
    clean_policy: str = "None"


def config_of(settings: Settings) -> ControllerConfig:
    """The config that the operator was started with."""
    found: ControllerConfig = settings.options.get(FLAG, _NOTHING)
    return found


_NOTHING = ControllerConfig()


def read_file(
    value: object, *, text_of: Callable[[str], str]
) -> tuple[ControllerConfig, list[Fault]]:
    """Read a config file; `text_of` returns the text of another file that it refers to."""
    source = server_path(value)
    return read_config(value, server_source=text_of(source) if source else "")


def server_path(value: object) -> str:
    """The path of the program of default parameter servers; empty if none is given."""
    given = normalised(value, _KEYS) if isinstance(value, Mapping) else {}
    path = given.get("grpcServerFilePath")
    return path if isinstance(path, str) else ""


def read_config(value: object, *, server_source: str = "") -> tuple[ControllerConfig, list[Fault]]:
    """Read the config. The result is only valid without faults."""
    reader = Reader()
    given = normalised(reader.mapping(value, ROOT), _KEYS)
    reader.text(given.get("grpcServerFilePath"), "grpcServerFilePath")
    modes = normalised(reader.mapping(given.get("v1alpha1"), "v1alpha1"), _MODES)

    def mode(key: str, allowed: tuple[str, ...]) -> str:
        return reader.choice(modes.get(key), f"v1alpha1.{key}", allowed) or allowed[0]

    mode("replicaWorkload", _WORKLOADS)
    config = ControllerConfig(
        tf_image=reader.text(given.get("tfImage"), "tfImage"),
        server_source=server_source,
        accelerators=_read_accelerators(reader, given.get("accelerators")),
        has_job_in_names=mode("naming", _NAMINGS) == "jobPrefixed",
        has_cluster_ips=mode("serviceMode", _SERVICES) == "clusterIP",
        clean_policy=mode("cleanPodPolicy", tuple(str(policy) for policy in CleanPolicy)),
    )
    return config, reader.faults


def _read_accelerators(reader: Reader, value: object) -> Mapping[str, Accelerator]:
    found: dict[str, Accelerator] = {}
    for resource, each in reader.mapping(value, "accelerators").items():
        path = f"accelerators[{resource}]"
        given = normalised(reader.mapping(each, path), _ACCELERATOR)
        volumes = reader.objects(given.get("volumes"), f"{path}.volumes")
        variables = reader.objects(given.get("envVars"), f"{path}.envVars")
        found[str(resource)] = Accelerator(
            volumes=[_read_texts(reader, volume, own, _VOLUME) for own, volume in volumes],
            env=[_read_texts(reader, variable, own, _VARIABLE) for own, variable in variables],
        )
    return found


def _read_texts(
    reader: Reader, value: Mapping[str, Any], path: str, keys: tuple[str, ...]
) -> Mapping[str, str]:
    """An object of strings, all of them required except the value of a variable."""
    given = normalised(value, keys)
    for key in keys:
        if key != "value" and not given.get(key):
            rule = f"must be set: each entry has {', '.join(keys)}"
            reader.note(field.required(f"{path}.{key}", rule, remedy=f"add {key}"))
    return {key: reader.text(given.get(key), f"{path}.{key}") for key in keys}
