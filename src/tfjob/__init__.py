"""Distributed TensorFlow jobs, on any Kubernetes and on one machine without a cluster."""

__all__ = ["__version__"]
__version__ = "0.1.0"
