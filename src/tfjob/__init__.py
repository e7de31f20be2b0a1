"""Distributed TensorFlow jobs, on any Kubernetes and on one machine without a cluster."""

import importlib

TYPE_CHECKING = False  # as in typing, without the cost of importing that module
if TYPE_CHECKING:
    from tfjob.sdk.client import connect as connect
    from tfjob.sdk.job import TFJob as TFJob
    from tfjob.sdk.run import run as run

__all__ = ["TFJob", "__version__", "connect", "run"]
__version__ = "0.1.0"
_PLACES = {"TFJob": "tfjob.sdk.job", "connect": "tfjob.sdk.client", "run": "tfjob.sdk.run"}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the operator needs none of them."""
    if name not in _PLACES:
        raise AttributeError(f"module 'tfjob' has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
