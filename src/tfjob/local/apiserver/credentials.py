"""What a client needs to connect: the token, the certificate and the kubeconfig of a data folder.

kubectl sends a token only over TLS, so the server has a self-signed certificate, which clients
trust through the kubeconfig. `cryptography` is imported only when a new certificate is made.
"""

import base64
import ipaddress
import secrets
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tfjob.k8s import safe_yaml
from tfjob.local.data_folder import DataFolderError, write_file

_LIFETIME = timedelta(days=3650)
_SKEW = timedelta(days=1)  # tolerates a clock that is set back
_NAME = "tfjob local API server"
_CONTEXT = "tfjob-local"


def load_token(path: Path) -> str:
    """The token of the data folder; created at the first start."""
    if path.exists():
        token = path.read_text().strip()
        if token:
            return token
    token = secrets.token_urlsafe(32)
    write_file(path, f"{token}\n".encode())
    return token


def load_certificate(folder: Path, *, now: datetime) -> tuple[Path, Path]:
    """Paths of the certificate and its key; created if one of them is missing."""
    certificate, key = folder / "apiserver.crt", folder / "apiserver.key"
    if not (certificate.exists() and key.exists()):
        try:
            certificate_pem, key_pem = make_certificate(now=now)
        except ImportError as error:
            raise DataFolderError(
                f"{certificate}: cannot be created without the Python package `cryptography`, "
                "which the operator's image does not contain; run `pip install cryptography`"
            ) from error
        write_file(key, key_pem)
        write_file(certificate, certificate_pem)
    return certificate, key


def make_certificate(*, now: datetime) -> tuple[bytes, bytes]:
    """A new certificate and its private key, as PEM."""
    from cryptography import x509  # noqa: PLC0415 - slow to import, and rarely needed
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    addresses = [ipaddress.ip_address(each) for each in ("127.0.0.1", "::1")]
    names = [x509.DNSName("localhost"), *map(x509.IPAddress, addresses)]
    usages = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "crl_sign",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usages)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key_pem


def write_kubeconfig(path: Path, *, url: str, token: str, ca: bytes | None) -> None:
    """Write the kubeconfig atomically, readable by its owner only."""
    cluster = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _CONTEXT, "cluster": cluster}],
        "users": [{"name": _CONTEXT, "user": {"token": token}}],
        "contexts": [
            {
                "name": _CONTEXT,
                "context": {"cluster": _CONTEXT, "user": _CONTEXT, "namespace": "default"},
            }
        ],
        "current-context": _CONTEXT,
    }
    write_file(path, yaml.safe_dump(config, sort_keys=False).encode())


def last_port(path: Path) -> int:
    """The port of the previous start, so that clients find the server again; 0 if unknown."""
    try:
        config = safe_yaml.load(path.read_bytes())
        return urlsplit(config["clusters"][0]["cluster"]["server"]).port or 0
    except (OSError, yaml.YAMLError, LookupError, TypeError, ValueError):
        # Without a readable file, any port will do.
        return 0
