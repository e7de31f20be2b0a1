"""The kubeconfig of a data folder: where the server is, whom to trust, which token to send."""

import base64
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tfjob.local import data_folder

NAME = "tfjob-local"


def write(path: Path, *, url: str, token: str, ca: bytes | None) -> None:
    """Replace the file in one step; only its owner can read it."""
    cluster = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [
            {"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}
        ],
        "current-context": NAME,
    }
    data_folder.write_file(path, yaml.safe_dump(config, sort_keys=False).encode())


def last_port(path: Path) -> int:
    """The port of the former start, so that clients find the server again; 0 if unknown."""
    try:
        config = yaml.safe_load(path.read_text())
        return urlsplit(config["clusters"][0]["cluster"]["server"]).port or 0
    except (OSError, yaml.YAMLError, LookupError, TypeError, ValueError):
        # A missing or mangled file only means that any port will do.
        return 0
