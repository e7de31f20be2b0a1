"""`tfjob operator`: run the operator against a cluster until it is stopped."""

import argparse
import asyncio
import ctypes
import gc
import logging
import os
import secrets
import socket
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

from tfjob import __version__
from tfjob.client.config import load
from tfjob.client.credentials import ConfigError
from tfjob.manager import logs, settings
from tfjob.manager.app import Operator, StartError
from tfjob.manager.health import AddressError
from tfjob.sdk.jobs import stored_dialects

_GC_THRESHOLD: Final = 10_000
"""Collect less often than by default: informer stores hold many objects and no cycles."""
_M_MMAP_THRESHOLD: Final = -3
"""The parameter of glibc's `mallopt`."""
_MMAP_THRESHOLD: Final = 128 * 1024
"""Allocations of this size have memory of their own. By default glibc raises the size when they are
freed. The read buffers of TLS connections, 256 kB each, then fragment the heap, which grows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    settings.add_arguments(parser)
    parser.add_argument("--version", action="version", version=f"tfjob {__version__}")


def rewrite(words: Sequence[str]) -> list[str]:
    """Accept flags with one dash, as deployments of the Go operator write them."""
    return settings.go_style(words)


def run(arguments: argparse.Namespace) -> int:
    try:
        chosen = settings.read(arguments, os.environ)
        config = load(Path(chosen.kubeconfig) if chosen.kubeconfig else None)
    except (settings.SettingsError, ConfigError) as error:
        sys.stderr.write(f"tfjob operator: {error}\n")
        return 2
    logs.set_up(style=chosen.log_format, level=chosen.log_level)
    for note in chosen.notes:
        logging.getLogger(__name__).warning(note)

    async def work() -> None:
        identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
        dialects = [each for each in stored_dialects() if chosen.serves(each.group)]
        operator = Operator(config, chosen, dialects=dialects, identity=identity)
        operator.stop_on_signals()
        await operator.run()

    try:
        _run(work())
    except (StartError, AddressError) as error:
        sys.stderr.write(f"tfjob operator: {error}\n")
        return 1
    return 0


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop if it is installed, with settings for a process that lives for months."""
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)
    _keep_heap_compact()
    try:
        import uvloop  # noqa: PLC0415 - an optional dependency of the operator only
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)


def _keep_heap_compact() -> None:
    """Keep large buffers out of the heap, where the C library can do that."""
    if sys.platform == "linux":
        set_parameter = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_parameter is not None:
            set_parameter(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
