"""How verbs reach a cluster: the flags for it, the connection, and errors as sentences."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tfjob.cli.printing import plain
from tfjob.client.config import load
from tfjob.client.credentials import ConfigError
from tfjob.client.errors import ApiError
from tfjob.client.http import Api


class Cluster(msgspec.Struct):
    """A connected API server and the namespace that is meant (None: all of them)."""

    api: Api
    namespace: str | None

    @property
    def one_namespace(self) -> str:
        return self.namespace or "default"


class VerbError(Exception):
    """A verb cannot do what was asked; the message says why and what to do."""


def add_arguments(parser: argparse.ArgumentParser, *, all_namespaces: bool = False) -> None:
    parser.add_argument("--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, ~/.kube/config")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig to use")
    parser.add_argument("-n", "--namespace", metavar="NS", help="default: that of the context")
    if all_namespaces:
        parser.add_argument(
            "-A", "--all-namespaces", action="store_true", help="jobs of every namespace"
        )


def run(arguments: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]) -> int:
    """Do the work with a connection; anything that stops it is one sentence on stderr."""
    try:
        return asyncio.run(_connected(arguments, work))
    except (ConfigError, VerbError) as error:
        return _say(str(error))
    except ApiError as error:
        return _say(error.message or str(error))


async def _connected(
    arguments: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]
) -> int:
    path = Path(arguments.kubeconfig) if arguments.kubeconfig else None
    config = load(path, context=arguments.context)
    everywhere = getattr(arguments, "all_namespaces", False)
    namespace = None if everywhere else arguments.namespace or config.namespace
    async with Api(config) as api:
        return await work(Cluster(api=api, namespace=namespace))


def _say(sentence: str) -> int:
    sys.stderr.write(f"error: {plain(sentence)}\n")
    return 1
