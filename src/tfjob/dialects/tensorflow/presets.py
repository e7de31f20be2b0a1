"""Controller configs for the GPU nodes of specific clouds.

With device plugins, which all clouds now have, pods need no additional configuration.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.dialects import legacy_gpu

_GPU = legacy_gpu.LEGACY
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
"""By the name of the cloud, in the format of the controller config file."""
