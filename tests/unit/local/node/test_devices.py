"""GPUs of the machine and their assignment."""

from pathlib import Path

import pytest

from tfjob.local.node.devices import allocate, cuda_variables, gpus_of_machine


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0,1", ("0", "1")),
        (" GPU-abc , 3", ("GPU-abc", "3")),
        ("", ()),
        ("-1", ()),
    ],
)
def test_only_gpus_visible_to_the_node_are_assigned(value: str, expected: tuple[str, ...]) -> None:
    assert gpus_of_machine({"CUDA_VISIBLE_DEVICES": value}) == expected


def fake_driver(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_gpus_are_counted_by_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_driver(tmp_path, "echo 'GPU 0: A (UUID: x)'; echo 'GPU 1: B (UUID: y)'")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert gpus_of_machine({}) == ("0", "1")


def test_a_broken_driver_means_no_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_driver(tmp_path, "echo 'NVIDIA-SMI has failed'; exit 9")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert gpus_of_machine({}) == ()


def test_a_missing_driver_means_no_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus_of_machine({}) == ()


def test_a_gpu_is_assigned_once() -> None:
    assert allocate(["0", "1", "2"], taken=["0"], count=2) == ("1", "2")
    assert allocate(["0", "1"], taken=["0"], count=2) is None
    assert allocate([], taken=[], count=0) == ()


def test_a_container_sees_its_own_gpus_only() -> None:
    assert cuda_variables(["0", "1"], ["1"]) == {"CUDA_VISIBLE_DEVICES": "1"}
    assert cuda_variables(["0", "1"], []) == {"CUDA_VISIBLE_DEVICES": "-1"}
    assert cuda_variables([], []) == {}


def test_a_shared_gpu_is_not_filled_by_its_first_user() -> None:
    growth = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    visible = {"CUDA_VISIBLE_DEVICES": "1"}
    assert cuda_variables(["0", "1"], ["1"], are_shared=True) == visible | growth
    assert cuda_variables(["0"], [], are_shared=True) == {"CUDA_VISIBLE_DEVICES": "-1"}
