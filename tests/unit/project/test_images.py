"""Images from Dockerfiles without a container engine: what is read, packed and written."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from tools.images.builder import Builder, ImageError, hash_of
from tools.images.dockerfile import DockerfileError, parse
from tools.images.layer import layer_of, pack
from tools.images.oci import Image

ROOT = Path(__file__).parents[3]
FROM_SCRATCH = """
FROM scratch AS files
COPY one.txt /data/one.txt
WORKDIR /work
COPY folder here
FROM scratch AS image
ENV A=1 B=${A}x
COPY --from=other two.txt /
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["run", "me"]
"""


def test_dockerfile_of_the_operator_is_understood_to_the_last_line() -> None:
    build, final = parse((ROOT / "Dockerfile").read_text(), {"PYTHON_IMAGE": "base"})
    assert (build.base, build.name, final.base) == ("base", "build", "base")
    assert [each.name for each in final.instructions] == [
        "COPY",
        "ENV",
        "USER",
        "EXPOSE",
        "ENTRYPOINT",
    ]
    assert final.instructions[-1].words() == ["tfjob", "operator"]
    assert build.instructions[3].text.count("&&") == 3


def test_default_of_an_argument_applies_without_another() -> None:
    [stage] = parse("ARG BASE=python:3\n# a comment\nFROM ${BASE}\n")
    assert (stage.base, stage.name) == ("python:3", "0")


@pytest.mark.parametrize("line", ["HEALTHCHECK x", "RUN before any stage", "FROM a b"])
def test_anything_unknown_is_refused(line: str) -> None:
    with pytest.raises(DockerfileError, match=line.split(maxsplit=1)[0]):
        parse(line if line.startswith(("FROM", "RUN")) else f"FROM a\n{line}")


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    context, other = tmp_path / "context", tmp_path / "other"
    (context / "folder" / "__pycache__").mkdir(parents=True)
    (context / "folder" / "three.txt").write_text("3")
    (context / "one.txt").write_text("1")
    other.mkdir()
    (other / "two.txt").write_text("2")
    (context / "Dockerfile").write_text(FROM_SCRATCH)
    return Builder(
        tmp_path / "store",
        context=context,
        bases=lambda name: tmp_path / name,
        folders={"other": other},
        say=print,
    )


def names_in(path: Path) -> list[str]:
    with tarfile.open(path) as tar:
        return tar.getnames()


def test_files_go_where_the_instructions_say(builder: Builder, tmp_path: Path) -> None:
    dockerfile = tmp_path / "context" / "Dockerfile"
    files = builder.build(dockerfile, "files:1", target="files", arguments={})
    assert [names_in(layer.path) for layer in files.layers] == [
        ["data", "data/one.txt"],
        ["work", "work/here", "work/here/three.txt"],
    ]
    image = builder.build(dockerfile, "image:1", arguments={})
    assert [names_in(layer.path) for layer in image.layers] == [["two.txt"]]
    assert image.settings["Env"][1:] == ["A=1", "B=x"]
    assert image.settings["User"] == "65532:65532"
    assert image.settings["Entrypoint"] == ["run", "me"]
    assert image.settings["ExposedPorts"] == {"8080/tcp": {}, "8081/tcp": {}}


def test_unchanged_step_is_not_repeated_and_a_changed_one_is(
    builder: Builder, tmp_path: Path
) -> None:
    dockerfile = tmp_path / "context" / "Dockerfile"

    def built() -> Image:
        return builder.build(dockerfile, "files:1", target="files", arguments={})

    first = built()
    assert built().digest == first.digest
    (tmp_path / "context" / "folder" / "three.txt").write_text("4")
    second = built()
    assert second.layers[0] == first.layers[0]
    assert second.layers[1] != first.layers[1]


def test_file_that_is_not_there_is_named(builder: Builder, tmp_path: Path) -> None:
    (tmp_path / "context" / "one.txt").unlink()
    with pytest.raises(ImageError, match=r"one\.txt"):
        builder.build(tmp_path / "context" / "Dockerfile", "x:1", target="files", arguments={})


def test_hash_of_a_folder_covers_names_contents_and_permissions(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    found = {hash_of(tmp_path)}
    (tmp_path / "a").chmod(0o755)
    found.add(hash_of(tmp_path))
    (tmp_path / "a").write_text("2")
    found.add(hash_of(tmp_path))
    (tmp_path / "a").rename(tmp_path / "b")
    found.add(hash_of(tmp_path))
    assert len(found) == 4


def test_layer_is_the_same_whoever_owns_the_files_and_keeps_their_times(tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    changes.mkdir()
    (changes / "link").symlink_to("file")
    (changes / "file").write_text("x")
    os.link(changes / "file", changes / "other")
    os.utime(changes / "file", (5, 7))
    pack(changes, tmp_path / "layer.tar")
    with tarfile.open(tmp_path / "layer.tar") as tar:
        entries = {entry.name: entry for entry in tar}
        other = tar.extractfile("other")
        assert other is not None
        assert other.read() == b"x"
    assert {(each.uid, each.gid, each.uname) for each in entries.values()} == {(0, 0, "root")}
    assert entries["file"].mtime == 7
    assert entries["link"].linkname == "file"
    content = (tmp_path / "layer.tar").read_bytes()
    assert (
        layer_of(tmp_path / "layer.tar").digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    )


def test_archive_is_an_oci_layout_whose_digests_are_right(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    pack(tmp_path / "changes", tmp_path / "layer.tar")
    layer = layer_of(tmp_path / "layer.tar")
    image = Image("host.test/name:7", (layer, layer), {"User": "1"})
    archive = io.BytesIO()
    image.write(archive)
    archive.seek(0)
    with tarfile.open(fileobj=archive) as tar:
        files = {}
        for name in tar.getnames():
            file = tar.extractfile(name)
            assert file is not None
            files[name] = file.read()
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    [entry] = json.loads(files["index.json"])["manifests"]
    assert entry["digest"] == image.digest
    assert entry["annotations"]["io.containerd.image.name"] == "host.test/name:7"
    manifest = json.loads(files[f"blobs/{entry['digest'].replace(':', '/')}"])
    config = json.loads(files[f"blobs/{manifest['config']['digest'].replace(':', '/')}"])
    assert config["rootfs"]["diff_ids"] == [layer.digest, layer.digest]
    assert config["config"] == {"User": "1"}
    assert len(files) == 5
