"""A self-signed certificate for 127.0.0.1 and localhost, made without any other program.

kubectl sends a token only over TLS, so the server needs a certificate; clients trust exactly this
one through the kubeconfig. ECDSA on the curve P-256 (FIPS 186-4), encoded as X.509 in DER.
"""

import base64
import hashlib
import secrets
from datetime import datetime, timedelta
from pathlib import Path

_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_A = _P - 3
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_LIFETIME = timedelta(days=3650)
_EARLIER = timedelta(days=1)  # a clock that is set back a little must not make it invalid

Point = tuple[int, int]


def ensure(folder: Path, *, now: datetime) -> tuple[Path, Path]:
    """The certificate and key files of a data folder; made if they are missing."""
    certificate, key = folder / "apiserver.crt", folder / "apiserver.key"
    if not (certificate.exists() and key.exists()):
        certificate_pem, key_pem = make(now=now)
        key.touch(mode=0o600)
        key.chmod(0o600)
        key.write_text(key_pem)
        certificate.write_text(certificate_pem)
    return certificate, key


def make(*, now: datetime) -> tuple[str, str]:
    """A new certificate and its private key, both as PEM."""
    secret = secrets.randbelow(_N - 1) + 1
    point = _multiplied(secret, _G)
    public = b"\x04" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")
    body = _to_be_signed(public, now=now)
    signature = _signature(secret, body)
    certificate = _sequence(body, _ECDSA_SHA256, _bits(signature))
    private = _sequence(
        _integer(1),
        _tagged(0x04, secret.to_bytes(32, "big")),
        _tagged(0xA0, _CURVE),
        _tagged(0xA1, _bits(public)),
    )
    return _pem("CERTIFICATE", certificate), _pem("EC PRIVATE KEY", private)


# -- the curve -----------------------------------------------------------------------------------


def _sum(one: Point | None, other: Point | None) -> Point | None:
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if (one[1] + other[1]) % _P == 0:
            return None
        slope = (3 * one[0] * one[0] + _A) * pow(2 * one[1], -1, _P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P)
    x = (slope * slope - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P


def _multiplied(factor: int, point: Point) -> Point:
    result: Point | None = None
    addend: Point | None = point
    while factor:
        if factor & 1:
            result = _sum(result, addend)
        addend = _sum(addend, addend)
        factor >>= 1
    if result is None:
        raise ArithmeticError("a factor between 1 and the curve's order never gives infinity")
    return result


def _signature(secret: int, message: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    while True:
        once = secrets.randbelow(_N - 1) + 1
        r = _multiplied(once, _G)[0] % _N
        s = pow(once, -1, _N) * (digest + r * secret) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


# -- DER -----------------------------------------------------------------------------------------


def _tagged(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(content: bytes, *, unused: int = 0) -> bytes:
    return _tagged(0x03, bytes([unused]) + content)


def _oid(text: str) -> bytes:
    first, second, *rest = (int(part) for part in text.split("."))
    content = bytes([40 * first + second])
    for number in rest:
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(0x80 | number & 0x7F)
        content += bytes(reversed(groups))
    return _tagged(0x06, content)


def _moment(moment: datetime) -> bytes:
    return (
        _tagged(0x18, moment.strftime("%Y%m%d%H%M%SZ").encode())
        if moment.year >= 2050
        else _tagged(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())
    )


def _extension(oid: str, value: bytes, *, is_critical: bool = False) -> bytes:
    critical = _tagged(0x01, b"\xff") if is_critical else b""
    return _sequence(_oid(oid), critical, _tagged(0x04, value))


_CURVE = _oid("1.2.840.10045.3.1.7")
_ECDSA_SHA256 = _sequence(_oid("1.2.840.10045.4.3.2"))


def _to_be_signed(public: bytes, *, now: datetime) -> bytes:
    name = _sequence(
        _tagged(0x31, _sequence(_oid("2.5.4.3"), _tagged(0x0C, b"tfjob local API server")))
    )
    info = _sequence(_sequence(_oid("1.2.840.10045.2.1"), _CURVE), _bits(public))
    return _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(secrets.randbits(120) | 1 << 119),
        _ECDSA_SHA256,
        name,
        _sequence(_moment(now - _EARLIER), _moment(now + _LIFETIME)),
        name,
        info,
        _tagged(0xA3, _extensions(public)),
    )


def _extensions(public: bytes) -> bytes:
    key_id = hashlib.sha256(public).digest()[:20]
    names = _sequence(
        _tagged(0x82, b"localhost"),
        _tagged(0x87, bytes([127, 0, 0, 1])),
        _tagged(0x87, bytes(15) + b"\x01"),
    )
    # digitalSignature and keyCertSign: it is its own authority.
    usage = _bits(bytes([0b10000100]), unused=2)
    return _sequence(
        _extension("2.5.29.19", _sequence(_tagged(0x01, b"\xff")), is_critical=True),
        _extension("2.5.29.15", usage, is_critical=True),
        _extension("2.5.29.37", _sequence(_oid("1.3.6.1.5.5.7.3.1"))),
        _extension("2.5.29.17", names),
        _extension("2.5.29.14", _tagged(0x04, key_id)),
        _extension("2.5.29.35", _sequence(_tagged(0x80, key_id))),
    )


def _pem(label: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode().replace("\n", "")
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])
