"""A connection to a cluster: the API client, the chosen namespace, and errors for people."""

import os
import re
from pathlib import Path
from typing import Final

import msgspec

from tfjob.client.credentials import ConfigError
from tfjob.client.errors import ApiError, Unreachable
from tfjob.client.http import Api
from tfjob.local.data_folder import KUBECONFIG, DataFolderError, default_folder, lock_holder
from tfjob.sdk.errors import TFJobError

_REMEDY: Final = (
    "check --kubeconfig or $KUBECONFIG; `tfjob local up` starts a cluster on this machine, and"
    " `tfjob run` needs none"
)


_COMMAND: Final = re.compile(
    r"`(tfjob (?:attach|delete|describe|events|explain|get|logs|restart|resume|scale|suspend|top"
    r"|wait)(?: [^`]*)?)`"
)
"""A command in a message for people, whose outcome depends on the cluster."""


class Cluster(msgspec.Struct):
    """A connected API client and the chosen namespace; None means all namespaces."""

    api: Api
    namespace: str | None
    flags: str = ""
    """What commands need to get to this cluster; empty if they choose it by themselves."""

    def with_flags(self, text: str) -> str:
        """The text, in which commands get the flags that lead to this cluster."""
        if not self.flags:
            return text
        return _COMMAND.sub(lambda match: f"`{match[1]} {self.flags}`", text)

    @property
    def one_namespace(self) -> str:
        return self.namespace or "default"


def kubeconfig_of_local_cluster() -> Path | None:
    """The kubeconfig of the user's running local cluster, unless $KUBECONFIG is set."""
    if os.environ.get("KUBECONFIG"):
        return None
    folder = default_folder()
    try:
        is_up = lock_holder(folder) is not None
    except DataFolderError:  # not this user's folder, so not this user's cluster
        is_up = False
    return folder / KUBECONFIG if is_up else None


def readable(error: Exception) -> Exception:
    """The error as a TFJobError with a remedy; unknown errors are returned unchanged."""
    match error:
        case ExceptionGroup():
            return readable(first_of(error))
        case ConfigError():
            return TFJobError(str(error), remedy=_REMEDY)
        case Unreachable():
            return TFJobError(f"the cluster does not answer: {error.message}", remedy=_REMEDY)
        case ApiError():
            return TFJobError(error.message or str(error))
    return error


def first_of(group: ExceptionGroup[Exception]) -> Exception:
    """The error that ended the tasks of a command; the others only followed."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, ExceptionGroup) else first
