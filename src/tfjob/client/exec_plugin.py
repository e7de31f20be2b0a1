"""Credentials from exec plugins, as kubeconfigs of cloud providers use them.

A library runs the plugin; it is imported only if a kubeconfig needs it. The token is cached until
the server refuses it, and concurrent requests run the plugin once.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from tfjob.client.credentials import ConfigError

if TYPE_CHECKING:
    from lightkube.config.models import UserExec

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")


class Variable(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class ExecSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The `exec` part of a kubeconfig user."""

    command: str
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False


class ExecPlugin:
    """A source of Authorization headers; `cluster` is passed to plugins that want it."""

    def __init__(self, spec: ExecSpec, *, cluster: Mapping[str, object]) -> None:
        _check_version(spec)
        _check_library(spec)
        self._command = spec.command
        self._install_hint = spec.install_hint
        self._call = _library_call(spec, cluster)
        self._header: str | None = None
        self._running = asyncio.Lock()

    async def header(self) -> str | None:
        async with self._running:
            if self._header is None:
                self._header = await self._run()
            return self._header

    def renew(self, refused: str | None) -> bool:
        if self._header == refused:
            self._header = None
        return True

    async def _run(self) -> str:
        try:
            return await _authorization(self._call)
        except FileNotFoundError as fault:
            raise ConfigError(
                f"exec plugin {self._command}: no such program. {self._install_hint}".rstrip()
            ) from fault
        except (_PluginFailed, OSError) as fault:
            raise ConfigError(f"exec plugin {self._command}: {fault}") from fault
        except (KeyError, TypeError, ValueError, RecursionError) as fault:
            raise ConfigError(
                f"exec plugin {self._command}: an ExecCredential with status.token is needed "
                f"(client certificates from plugins are not supported), got: {fault!r}"
            ) from fault


class _PluginFailed(Exception):  # noqa: N818 - private, says what happened
    """The plugin reported an error."""


class _Carrier:
    """A stand-in for a request, into which the library writes the Authorization header."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}


async def _authorization(call: "UserExec") -> str:
    from lightkube.config.client_adapter import ExecAuth  # noqa: PLC0415 - heavy, rarely needed
    from lightkube.core.exceptions import ConfigError as LibraryError  # noqa: PLC0415 - same

    carrier = _Carrier()
    flow = ExecAuth(call).async_auth_flow(carrier)  # type: ignore[arg-type]  # only headers are used
    try:
        await anext(flow)
    except LibraryError as fault:
        raise _PluginFailed(str(fault)) from fault
    finally:
        await flow.aclose()
    return carrier.headers["Authorization"]


def _check_version(spec: ExecSpec) -> None:
    group, _, version = spec.api_version.partition("/")
    if group != _GROUP or version not in _VERSIONS:
        raise ConfigError(
            f"exec plugin {spec.command}: apiVersion must be {_GROUP}/ followed by one of "
            f"{', '.join(_VERSIONS)}, got {spec.api_version!r}"
        )


def _check_library(spec: ExecSpec) -> None:
    """Fail at startup, not at the first request, if the library is missing."""
    try:
        import lightkube.config.client_adapter  # noqa: F401, PLC0415 - heavy, rarely needed
    except ImportError as fault:
        raise ConfigError(
            f"exec plugin {spec.command}: exec plugins need an optional dependency; "
            "install it with: pip install 'tfjob[kubeconfig]'"
        ) from fault


def _library_call(spec: ExecSpec, cluster: Mapping[str, object]) -> "UserExec":
    """The plugin call for the library.

    The library supports v1beta1 only. v1 additionally requires KUBERNETES_EXEC_INFO, so it is
    always set here; the plugin replies in its own version.
    """
    from lightkube.config.models import NameValue, UserExec  # noqa: PLC0415 - heavy, rarely needed

    variables = [NameValue(name=entry.name, value=entry.value) for entry in spec.env]
    variables.append(NameValue(name="KUBERNETES_EXEC_INFO", value=_exec_info(spec, cluster)))
    return UserExec(
        apiVersion=f"{_GROUP}/v1beta1",
        command=spec.command,
        args=list(spec.args),
        env=variables,
    )


def _exec_info(spec: ExecSpec, cluster: Mapping[str, object]) -> str:
    exec_spec: dict[str, object] = {"interactive": False}
    if spec.provide_cluster_info:
        exec_spec["cluster"] = cluster
    info = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": exec_spec}
    return msgspec.json.encode(info).decode()
