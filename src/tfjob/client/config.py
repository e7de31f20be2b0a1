"""Client configuration: server address, TLS and credentials.

Looked for in this order: an explicit file, $KUBECONFIG, the pod's service account, and
~/.kube/config. If none exists, the error lists the places.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from tfjob.client import kubeconfig
from tfjob.client.credentials import (
    AuthorityFile,
    ConfigError,
    Credentials,
    NotConfiguredError,
    StaticHeader,
    TokenFile,
    basic,
    bearer,
)
from tfjob.client.exec_plugin import ExecPlugin

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a client needs to connect to a cluster."""

    server: str
    tls: ssl.SSLContext | None = None
    credentials: Credentials = StaticHeader()
    namespace: str = "default"
    server_hostname: str | None = None
    proxy: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


def load(
    path: Path | None = None,
    *,
    context: str | None = None,
    environment: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Config:
    """Load the configuration from the first place that has one."""
    env = os.environ if environment is None else environment
    if path is not None:
        return from_kubeconfig(path, context=context)
    listed = [Path(entry) for entry in env.get("KUBECONFIG", "").split(os.pathsep) if entry]
    for candidate in listed:
        if candidate.exists():
            return from_kubeconfig(candidate, context=context)
    is_pod = "KUBERNETES_SERVICE_HOST" in env and (service_account / "token").exists()
    if is_pod and context is None:
        return in_cluster(environment=env, folder=service_account)
    home = Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"
    if home.exists():
        return from_kubeconfig(home, context=context)
    tried = [f"$KUBECONFIG ({entry})" for entry in listed]
    tried += [str(home)] if context else [str(service_account), str(home)]
    what = f"context {context!r} does not exist: " if context else ""
    raise NotConfiguredError(f"{what}no cluster is configured; looked at: {', '.join(tried)}")


def in_cluster(
    *, environment: Mapping[str, str] | None = None, folder: Path = SERVICE_ACCOUNT
) -> Config:
    """The configuration of a pod. The mounted token and CA are read again as they rotate."""
    env = os.environ if environment is None else environment
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set inside a pod, "
            f"got {host!r} and {port!r}"
        )
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    namespace = folder / "namespace"
    authority = folder / "ca.crt"
    tls = _trust(cafile=authority)
    return Config(
        server=server,
        tls=tls,
        credentials=TokenFile(folder / "token", authority=AuthorityFile(authority, tls)),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        proxy=proxy_for(server),
    )


def from_kubeconfig(path: Path, *, context: str | None = None) -> Config:
    """The configuration of a context in a kubeconfig file."""
    selected = kubeconfig.read(path, context=context)
    cluster = selected.cluster
    server = cluster.server.rstrip("/")
    if urlsplit(server).scheme not in {"http", "https"}:
        raise ConfigError(
            f"kubeconfig {path}: server must be an http:// or https:// URL, got {cluster.server!r}"
        )
    return Config(
        server=server,
        tls=_tls(selected) if server.startswith("https:") else None,
        credentials=_credentials(selected),
        namespace=selected.namespace,
        server_hostname=cluster.tls_server_name or None,
        proxy=cluster.proxy_url or proxy_for(server),
        headers=_impersonation(selected.user),
    )


def proxy_for(server: str) -> str | None:
    """The proxy from the environment for this server; None for the local host."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if host in {"localhost", "::1"} or host.startswith("127.") or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _credentials(selected: kubeconfig.Selected) -> Credentials:
    """The user's credentials, in kubectl's order of precedence."""
    user = selected.user
    if user.auth_provider is not None:
        raise ConfigError(
            f"kubeconfig {selected.path}: auth-provider was removed from Kubernetes; "
            "ask the cluster's provider for an exec plugin instead"
        )
    if user.token_file:
        return TokenFile(selected.file(user.token_file))
    if user.token:
        return bearer(user.token)
    if user.exec is not None:
        return _plugin(selected)
    if user.username:
        return basic(user.username, user.password)
    return StaticHeader()


def _plugin(selected: kubeconfig.Selected) -> ExecPlugin:
    spec = selected.user.exec
    if spec is None:
        raise ConfigError(f"kubeconfig {selected.path}: the user has no exec plugin")
    if "/" in spec.command:
        spec = msgspec.structs.replace(spec, command=str(selected.file(spec.command)))
    known = {
        "server": selected.cluster.server,
        "tls-server-name": selected.cluster.tls_server_name,
        "insecure-skip-tls-verify": selected.cluster.insecure_skip_tls_verify,
        "certificate-authority-data": selected.cluster.certificate_authority_data,
    }
    return ExecPlugin(spec, cluster={name: value for name, value in known.items() if value})


def _impersonation(user: kubeconfig.User) -> tuple[tuple[str, str], ...]:
    """Impersonation headers. Ignoring them would grant more rights than intended."""
    headers = [("Impersonate-Group", group) for group in user.impersonated_groups]
    if user.impersonated_user:
        headers.append(("Impersonate-User", user.impersonated_user))
    if user.impersonated_uid:
        headers.append(("Impersonate-Uid", user.impersonated_uid))
    return tuple(headers)


def _tls(selected: kubeconfig.Selected) -> ssl.SSLContext:
    cluster, user = selected.cluster, selected.user
    if cluster.certificate_authority_data:
        pem = _decoded(selected, "certificate-authority-data", cluster.certificate_authority_data)
        context = _trust(cadata=pem.decode("ascii", errors="replace"))
    elif cluster.certificate_authority:
        context = _trust(cafile=selected.file(cluster.certificate_authority))
    else:
        context = _trust()
    if cluster.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if user.client_certificate or user.client_certificate_data:
        _present(context, selected)
    return context


def _trust(*, cafile: Path | None = None, cadata: str | None = None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    except (OSError, ValueError) as fault:
        raise ConfigError(
            f"certificate authority {cafile or '(inline)'}: PEM certificates are needed, "
            f"got: {fault}"
        ) from fault
    # Python 3.13 rejects CAs without key identifiers, which many clusters still use.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _present(context: ssl.SSLContext, selected: kubeconfig.Selected) -> None:
    """Load the client certificate, through files because the ssl module accepts nothing else."""
    user = selected.user
    with tempfile.TemporaryDirectory(prefix="tfjob-") as folder:
        certificate = _as_file(
            selected,
            "client-certificate",
            inline=user.client_certificate_data,
            named=user.client_certificate,
            folder=Path(folder),
        )
        key = _as_file(
            selected,
            "client-key",
            inline=user.client_key_data,
            named=user.client_key,
            folder=Path(folder),
        )
        try:
            context.load_cert_chain(certificate, key)
        except OSError as fault:
            raise ConfigError(
                f"kubeconfig {selected.path}: client-certificate and client-key must be a "
                f"matching PEM pair, got: {fault}"
            ) from fault


def _as_file(
    selected: kubeconfig.Selected, field: str, *, inline: str, named: str, folder: Path
) -> Path:
    if not inline:
        return selected.file(named)
    path = folder / field
    path.touch(mode=0o600)
    path.write_bytes(_decoded(selected, f"{field}-data", inline))
    return path


def _decoded(selected: kubeconfig.Selected, field: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as fault:
        raise ConfigError(
            f"kubeconfig {selected.path}: {field} must be base64, got: {fault}"
        ) from fault
