"""Reads a kubeconfig file and selects one context.

Relative paths in the file are relative to its directory.
"""

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from tfjob.client.credentials import ConfigError
from tfjob.client.exec_plugin import ExecSpec
from tfjob.k8s import safe_yaml

T = TypeVar("T")


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class User(msgspec.Struct, frozen=True, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: ExecSpec | None = None
    auth_provider: dict[str, Any] | None = None
    impersonated_user: str = msgspec.field(default="", name="as")
    impersonated_uid: str = msgspec.field(default="", name="as-uid")
    impersonated_groups: tuple[str, ...] = msgspec.field(default=(), name="as-groups")


class _Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context = _Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


class Selected(msgspec.Struct, frozen=True):
    """One context of a kubeconfig, resolved."""

    path: Path
    cluster: Cluster
    user: User
    namespace: str

    def file(self, name: str) -> Path:
        """A path named in the kubeconfig."""
        return self.path.parent / Path(name).expanduser()


def read(path: Path, *, context: str | None = None) -> Selected:
    """Read the named context, or the current one."""
    content = _parse(path)
    contexts = {entry.name: entry.context for entry in content.contexts}
    chosen = _pick(contexts, context or content.current_context, path=path, what="context")
    users = {entry.name: entry.user for entry in content.users}
    clusters = {entry.name: entry.cluster for entry in content.clusters}
    cluster = _pick(clusters, chosen.cluster, path=path, what="cluster")
    if not cluster.server:
        raise ConfigError(f"kubeconfig {path}: cluster {chosen.cluster!r} has no server URL")
    return Selected(
        path=path,
        cluster=cluster,
        user=_pick(users, chosen.user, path=path, what="user") if chosen.user else User(),
        namespace=chosen.namespace or "default",
    )


def _parse(path: Path) -> _File:
    try:
        content = safe_yaml.load(path.read_bytes())
        return msgspec.convert(_without_nulls(content or {}), _File)
    except OSError as fault:
        raise ConfigError(
            f"kubeconfig {path}: a readable file is needed, got: {fault.strerror}"
        ) from fault
    except (yaml.YAMLError, ValueError) as fault:
        raise ConfigError(f"kubeconfig {path}: not a kubeconfig: {fault}") from fault


def _without_nulls(value: Any) -> Any:
    """Drop nulls: some tools write `args: null` or `users: null`."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _pick(entries: dict[str, T], name: str, *, path: Path, what: str) -> T:
    if name in entries:
        return entries[name]
    known = ", ".join(sorted(entries)) or "none"
    wanted = repr(name) if name else "none (no current-context is set)"
    raise ConfigError(f"kubeconfig {path}: {what} must be one of: {known}; got {wanted}")
