"""Allocates cluster IPs to Services.

Nothing listens on these addresses; clients expect to see them.
"""

import ipaddress
import secrets
from typing import Any

from tfjob.local.apiserver.store import Change, Store

Json = dict[str, Any]
NETWORK = ipaddress.ip_network("10.96.0.0/16")


class ClusterIPAllocator:
    def __init__(self, store: Store) -> None:
        self._taken: set[str] = set()
        for stored in store.page("services"):
            self._taken.update(_addresses(stored.object()))
        store.listen(self._follow)

    def assign(self, service: Json) -> None:
        """Set a cluster IP if the Service's type has one and none was requested."""
        spec = service["spec"]
        if spec["type"] == "ExternalName" or spec.get("clusterIP"):
            return
        address = self._free()
        spec["clusterIP"] = address
        spec["clusterIPs"] = [address]

    def _free(self) -> str:
        while True:
            # The first 256 are reserved for static addresses, as in Kubernetes.
            address = str(NETWORK[256 + secrets.randbelow(NETWORK.num_addresses - 512)])
            if address not in self._taken:
                return address

    def _follow(self, change: Change) -> None:
        if change.key.resource != "services":
            return
        if change.type == "DELETED":
            self._taken.difference_update(_addresses(change.object))
        else:
            self._taken.update(_addresses(change.object))


def _addresses(service: Json) -> list[str]:
    return list((service.get("spec") or {}).get("clusterIPs") or ())
