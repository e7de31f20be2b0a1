"""Puts files into a ConfigMap, and says where a volume of it places them.

Keys of a ConfigMap cannot contain slashes, so every file gets a key of its own, and an item of the
volume keeps its path. The name of the ConfigMap contains a hash of its content, so that no job ever
runs the code of an earlier one.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from tfjob.sdk.errors import TFJobError
from tfjob.sdk.submission import MADE_FOR_JOB

LIMIT: Final = 1_000_000
"""Bytes of content. API servers accept 1 MiB in a ConfigMap and 1.5 MiB in a request."""
_UNFIT: Final = re.compile(r"[^-._a-zA-Z0-9]")


def config_map_for(name: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    size = sum(map(len, files.values()))
    if size > LIMIT:
        raise TFJobError(f"{name}: {size} bytes do not fit into a ConfigMap of {LIMIT} bytes")
    texts: dict[str, str] = {}
    binaries: dict[str, str] = {}
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
        try:
            texts[key_of(path)] = content.decode("utf-8")
        except UnicodeDecodeError:
            binaries[key_of(path)] = base64.b64encode(content).decode("ascii")
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{name}-{digest.hexdigest()[:8]}",
            "labels": {MADE_FOR_JOB: "true"},
        },
        "immutable": True,
        **({"data": texts} if texts else {}),
        **({"binaryData": binaries} if binaries else {}),
    }


def volume_for(manifest: Mapping[str, Any], files: Mapping[str, bytes], *, name: str) -> Any:
    """The volume with all files at their paths."""
    items = [{"key": key_of(path), "path": path} for path in sorted(files)]
    return {"name": name, "configMap": {"name": manifest["metadata"]["name"], "items": items}}


def key_of(path: str) -> str:
    """The key of a file: readable, and unique for each path."""
    readable = _UNFIT.sub("_", path)
    if readable == path:
        return path
    digest = hashlib.sha256(path.encode()).hexdigest()[:6]
    return f"{readable[-200:]}.{digest}"
