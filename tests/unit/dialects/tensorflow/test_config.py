"""The controller config file."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.dialects.tensorflow.config import Accelerator, ControllerConfig, read_config, server_path
from tfjob.k8s.field import summary

CUDA = {"name": "cuda-lib", "mountPath": "/usr/local/cuda", "hostPath": "/home/cuda"}


def read(value: Any) -> ControllerConfig:
    config, faults = read_config(value)
    assert faults == []
    return config


@pytest.mark.parametrize("nothing", [None, {}, {"accelerators": None, "v1alpha1": {}}])
def test_nothing_said_is_the_empty_configuration(nothing: Any) -> None:
    assert read(nothing) == ControllerConfig()


def test_accelerators_are_read() -> None:
    env = {"name": "LD_LIBRARY_PATH", "value": "/cuda"}
    config = read({"accelerators": {"nvidia-gpu": {"volumes": [CUDA], "envVars": [env]}}})
    assert config.accelerators == {"nvidia-gpu": Accelerator(volumes=[CUDA], env=[env])}


def test_keys_are_read_whatever_their_case() -> None:
    volume = {key.lower(): value for key, value in CUDA.items()}
    config = read(
        {
            "ACCELERATORS": {"Mixed/Case": {"Volumes": [volume]}},
            "TFImage": "i",
            "V1Alpha1": {"Naming": "jobPrefixed"},
        }
    )
    assert config.accelerators == {"Mixed/Case": Accelerator(volumes=[CUDA], env=[])}
    assert (config.tf_image, config.has_job_in_names) == ("i", True)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ({"naming": "seed"}, ControllerConfig()),
        ({"naming": "jobPrefixed"}, ControllerConfig(has_job_in_names=True)),
        ({"serviceMode": "headless"}, ControllerConfig()),
        ({"serviceMode": "clusterIP"}, ControllerConfig(has_cluster_ips=True)),
        ({"cleanPodPolicy": "All"}, ControllerConfig(clean_policy="All")),
        ({"cleanPodPolicy": "None"}, ControllerConfig()),
        ({"replicaWorkload": "job"}, ControllerConfig()),
    ],
    ids=str,
)
def test_modes(mode: Any, expected: ControllerConfig) -> None:
    assert read({"v1alpha1": mode}) == expected


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("text", "controller config"),
        ({"tfImage": 1}, "tfImage"),
        ({"grpcServerFilePath": []}, "grpcServerFilePath"),
        ({"v1alpha1": {"naming": "mine"}}, "v1alpha1.naming"),
        ({"v1alpha1": {"serviceMode": "clusterip"}}, "v1alpha1.serviceMode"),
        ({"v1alpha1": {"cleanPodPolicy": "Some"}}, "v1alpha1.cleanPodPolicy"),
        ({"v1alpha1": {"replicaWorkload": "pod"}}, "v1alpha1.replicaWorkload"),
        ({"accelerators": {"gpu": []}}, "accelerators[gpu]"),
        ({"accelerators": {"gpu": {"volumes": [{}]}}}, "accelerators[gpu].volumes[0].name"),
        ({"accelerators": {"gpu": {"envVars": [{}]}}}, "accelerators[gpu].envVars[0].name"),
    ],
    ids=str,
)
def test_faults_are_named_by_their_place(value: Any, path: str) -> None:
    _, faults = read_config(value)
    assert path in [fault.path for fault in faults]
    assert all(fault.remedy for fault in faults)


def test_file_of_the_server_is_named_and_its_text_is_taken() -> None:
    value = {"GrpcServerFilePath": "/opt/server.py"}
    assert server_path(value) == "/opt/server.py"
    config, faults = read_config(value, server_source="print()")
    assert (config.server_source, faults) == ("print()", [])


@pytest.mark.parametrize("value", [None, [], {}, {"grpcServerFilePath": 3}])
def test_no_file_of_the_server_is_named(value: Any) -> None:
    assert server_path(value) == ""


@given(
    JSON
    | st.dictionaries(st.sampled_from(["accelerators", "tfImage", "v1alpha1"]), JSON, min_size=1)
)
def test_anything_gives_faults_and_never_an_exception(value: Any) -> None:
    server_path(value)
    _, faults = read_config(value)
    summary(faults)
