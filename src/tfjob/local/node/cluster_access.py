"""How containers reach the API server: variables, token and certificate.

Containers are processes, so the files of the token volume are not at the path that the API shows;
the path is translated in arguments and variables, like that of any volume.
"""

from urllib.parse import urlsplit

import msgspec

ROOT_CA = "kube-root-ca.crt"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path, not a token
_HTTPS = 443


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the API server, a token, and the certificate to trust."""

    url: str
    token: str
    ca: str = ""


def service_variables(access: ClusterAccess) -> dict[str, str]:
    """The variables of the Service `kubernetes`, as a kubelet sets them."""
    parts = urlsplit(access.url)
    host, port = parts.hostname or "", str(parts.port or _HTTPS)
    address, name = f"tcp://{host}:{port}", f"KUBERNETES_PORT_{_HTTPS}_TCP"
    return {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
        "KUBERNETES_PORT": address,
        name: address,
        f"{name}_PROTO": "tcp",
        f"{name}_PORT": port,
        f"{name}_ADDR": host,
    }
