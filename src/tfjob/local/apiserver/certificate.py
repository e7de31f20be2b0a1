"""A self-signed certificate for 127.0.0.1, ::1 and localhost.

kubectl sends a token only over TLS, so the server needs a certificate; clients trust exactly this
one through the kubeconfig. `cryptography` is imported only when a new certificate is made.
"""

import ipaddress
from datetime import datetime, timedelta
from pathlib import Path

from tfjob.local.data_folder import DataFolderError, write_file

_LIFETIME = timedelta(days=3650)
_SKEW = timedelta(days=1)  # a clock that is set back a little must not make it invalid
_NAME = "tfjob local API server"


def ensure(folder: Path, *, now: datetime) -> tuple[Path, Path]:
    """The certificate and key files of a data folder; made if one of them is missing."""
    certificate, key = folder / "apiserver.crt", folder / "apiserver.key"
    if not (certificate.exists() and key.exists()):
        try:
            certificate_pem, key_pem = make(now=now)
        except ImportError as error:
            raise DataFolderError(
                f"{certificate}: cannot be made without the Python package `cryptography`, which "
                "the operator's image leaves out; run `pip install cryptography`"
            ) from error
        write_file(key, key_pem)
        write_file(certificate, certificate_pem)
    return certificate, key


def make(*, now: datetime) -> tuple[bytes, bytes]:
    """A new certificate and its private key, both as PEM."""
    from cryptography import x509  # noqa: PLC0415 - slow to import, and rarely needed
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
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
        .add_extension(
            x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
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
