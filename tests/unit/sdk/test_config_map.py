import base64

import pytest

from tfjob.sdk.config_map import LIMIT, config_map_for, key_of, volume_for
from tfjob.sdk.errors import TFJobError


def test_files_keep_their_paths_and_their_bytes() -> None:
    files = {"train.py": b"print(1)\n", "data/a b.bin": b"\xff\x00", "data/x.txt": "ä".encode()}
    manifest = config_map_for("j-code", files)
    volume = volume_for(manifest, files, name="code")
    items = {each["path"]: each["key"] for each in volume["configMap"]["items"]}
    assert set(items) == set(files)
    assert manifest["data"][items["train.py"]] == "print(1)\n"
    assert manifest["data"][items["data/x.txt"]] == "ä"
    assert base64.b64decode(manifest["binaryData"][items["data/a b.bin"]]) == b"\xff\x00"
    assert volume["configMap"]["name"] == manifest["metadata"]["name"]


def test_paths_that_look_alike_have_keys_of_their_own() -> None:
    assert len({key_of(each) for each in ("a/b", "a_b", "a b", "a.b")}) == 4
    assert len(key_of("x/" * 500)) <= 253


def test_each_content_has_its_own_config_map() -> None:
    def name(files: dict[str, bytes]) -> str:
        return str(config_map_for("j", files)["metadata"]["name"])

    assert name({"a": b"1"}) == name({"a": b"1"})
    assert len({name({"a": b"1"}), name({"a": b"2"}), name({"b": b"1"}), name({})}) == 4


def test_content_beyond_the_limit_is_an_error() -> None:
    config_map_for("j", {"a": b"x" * LIMIT})
    with pytest.raises(TFJobError, match="do not fit"):
        config_map_for("j", {"a": b"x" * LIMIT, "b": b"x"})
