"""Configurations for clouds that need one: what an admin would write for their machines with GPUs.

With device plugins, as all clouds have them today, nothing has to be added to a pod.
"""

from collections.abc import Mapping
from typing import Any

_GPU = "alpha.kubernetes.io/nvidia-gpu"
_DRIVER = "/usr/lib/nvidia-384"
_LIBCUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "azure": {
        "accelerators": {
            _GPU: {
                "volumes": [
                    {"name": "lib", "mountPath": "/usr/local/nvidia/lib64", "hostPath": _DRIVER},
                    {
                        "name": "bin",
                        "mountPath": "/usr/local/nvidia/bin",
                        "hostPath": f"{_DRIVER}/bin",
                    },
                    {"name": "libcuda", "mountPath": _LIBCUDA, "hostPath": _LIBCUDA},
                ]
            }
        }
    },
    "gke": {},
}
"""By the name of the cloud, in the form of the configuration file."""
