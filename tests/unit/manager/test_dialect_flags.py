"""Reading the controller configuration file, and its errors."""

from pathlib import Path

import pytest

from tests.support import seeds
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.dialects.tensorflow.config import ControllerConfig
from tfjob.manager import dialect_flags
from tfjob.manager.dialect_flags import ConfigFileError

[FLAG] = [flag for each in DESCRIPTORS for flag in each.file_flags]


def written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def test_configuration_is_read_from_the_file(tmp_path: Path) -> None:
    server = written(tmp_path / "server.py", "print('here')\n")
    text = f"TFIMAGE: mine\ngrpcServerFilePath: {server}\n"
    found = dialect_flags.read_file(written(tmp_path / "c.yaml", text), FLAG)
    assert found == ControllerConfig(tf_image="mine", server_source="print('here')\n")


def test_empty_file_configures_nothing(tmp_path: Path) -> None:
    assert dialect_flags.read_file(written(tmp_path / "c.yaml", ""), FLAG) == ControllerConfig()


@pytest.mark.parametrize("name", FLAG.file_names)
def test_folder_holds_the_file_under_either_name(tmp_path: Path, name: str) -> None:
    written(tmp_path / name, "tfImage: mine\n")
    found = dialect_flags.read_file(tmp_path, FLAG)
    assert found == ControllerConfig(tf_image="mine")


def test_folder_without_the_file_is_no_configuration(tmp_path: Path) -> None:
    assert dialect_flags.read_file(tmp_path, FLAG) is None


def test_seed_001_line_145_whole_config_map_as_the_file_is_understood(tmp_path: Path) -> None:
    mounted = tmp_path / "..2026_01_02"
    mounted.mkdir()
    written(mounted / "config.yaml", seeds.CONFIG.read_text())
    (tmp_path / "config.yaml").symlink_to(mounted / "config.yaml")
    found = dialect_flags.read_file(tmp_path, FLAG)
    assert isinstance(found, ControllerConfig)
    assert list(found.accelerators) == ["alpha.kubernetes.io/nvidia-gpu"]


def test_seed_001_line_145_single_file_may_have_any_name(tmp_path: Path) -> None:
    written(tmp_path / "mine.yaml", "tfImage: mine\n")
    assert dialect_flags.read_file(tmp_path, FLAG) == ControllerConfig(tf_image="mine")


def test_several_files_of_other_names_are_refused(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        written(tmp_path / name, "tfImage: mine\n")
    with pytest.raises(ConfigFileError, match=r"several files, a\.yaml, b\.yaml; call the"):
        dialect_flags.read_file(tmp_path, FLAG)
    written(tmp_path / FLAG.file_names[0], "tfImage: this\n")
    assert dialect_flags.read_file(tmp_path, FLAG) == ControllerConfig(tf_image="this")


def test_config_map_without_the_key_is_refused(tmp_path: Path) -> None:
    text = "kind: ConfigMap\ndata: {a: x, b: y}\n"
    with pytest.raises(ConfigFileError, match=r"without the key controller_config_file\.yaml"):
        dialect_flags.read_file(written(tmp_path / "c.yaml", text), FLAG)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "not valid YAML"),
        ("- a\n", "must be of type object"),
        ("v1alpha1: {naming: odd}\n", "naming"),
        ("grpcServerFilePath: /nowhere/server.py\n", "cannot be read"),
        ("tfImage: &a [*a]\n", "aliases"),
    ],
)
def test_file_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, text: str, why: str
) -> None:
    file = written(tmp_path / "c.yaml", text)
    with pytest.raises(ConfigFileError) as caught:
        dialect_flags.read_file(file, FLAG)
    assert why in str(caught.value)
    assert "the operator does not start" in str(caught.value)


def test_missing_file_and_bytes_that_are_no_text_are_rejected(tmp_path: Path) -> None:
    odd = tmp_path / "odd.yaml"
    odd.write_bytes(b"\xff\xfe")
    for file in (tmp_path / "none.yaml", odd):
        with pytest.raises(ConfigFileError, match=str(file)):
            dialect_flags.read_file(file, FLAG)
