"""Writes images in the OCI image layout, as one tar file that every container engine can load.

`ctr images import`, `podman load` and `skopeo copy oci-archive:` read it. No daemon is involved,
and the same layers and settings give the same bytes.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from tools.images.layer import Layer

_MEDIA = "application/vnd.oci.image."
_EPOCH = "1970-01-01T00:00:00Z"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """Layers, the lowest first, and how a container of them is started."""

    name: str
    layers: tuple[Layer, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    """Entrypoint, Cmd, Env, User, WorkingDir and ExposedPorts."""

    @property
    def digest(self) -> str:
        """The digest of the manifest, by which engines know the image."""
        return _digest(self._manifest())

    def write(self, target: IO[bytes]) -> None:
        """Write the archive; the target needs not be seekable."""
        with tarfile.open(fileobj=target, mode="w|") as tar:
            for name, content in self._small_files():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
            for layer in {each.digest: each for each in self.layers}.values():
                entry = tarfile.TarInfo(_blob(layer.digest))
                entry.size = layer.size
                with layer.path.open("rb") as layer_content:
                    tar.addfile(entry, layer_content)

    def _small_files(self) -> Iterator[tuple[str, bytes]]:
        manifest, config = self._manifest(), self._config()
        yield "oci-layout", _json({"imageLayoutVersion": "1.0.0"})
        yield "index.json", self._index()
        yield _blob(_digest(config)), config
        yield _blob(_digest(manifest)), manifest

    def _config(self) -> bytes:
        history = [{"created": _EPOCH, "created_by": "tools.images"} for _ in self.layers]
        return _json(
            {
                "architecture": _architecture(),
                "os": "linux",
                "created": _EPOCH,
                "config": self.settings,
                "rootfs": {"type": "layers", "diff_ids": [each.digest for each in self.layers]},
                "history": history,
            }
        )

    def _manifest(self) -> bytes:
        config = self._config()
        layers = [
            {"mediaType": f"{_MEDIA}layer.v1.tar", "digest": each.digest, "size": each.size}
            for each in self.layers
        ]
        return _json(
            {
                "schemaVersion": 2,
                "mediaType": f"{_MEDIA}manifest.v1+json",
                "config": {
                    "mediaType": f"{_MEDIA}config.v1+json",
                    "digest": _digest(config),
                    "size": len(config),
                },
                "layers": layers,
            }
        )

    def _index(self) -> bytes:
        manifest = self._manifest()
        tag = self.name.rpartition(":")[2]
        entry = {
            "mediaType": f"{_MEDIA}manifest.v1+json",
            "digest": _digest(manifest),
            "size": len(manifest),
            "platform": {"os": "linux", "architecture": _architecture()},
            "annotations": {
                "io.containerd.image.name": self.name,
                "org.opencontainers.image.ref.name": tag,
            },
        }
        index = {"schemaVersion": 2, "mediaType": f"{_MEDIA}index.v1+json", "manifests": [entry]}
        return _json(index)


def _architecture() -> str:
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"
