"""Readiness and address of pods that are servers.

Only pods of a Deployment or a ReplicaSet are servers. One that declares ports is ready when it
listens, any other when it runs. Ephemeral ports are not published.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.local.node.sockets import Address

Json = Mapping[str, Any]
URL = "tfjob.dev/url"
_OWNERS = frozenset({"Deployment", "ReplicaSet"})


def is_server(pod: Json) -> bool:
    """Whether a controller keeps this pod running as a server."""
    refs = (pod.get("metadata") or {}).get("ownerReferences") or ()
    return any(ref.get("kind") in _OWNERS and ref.get("controller") for ref in refs)


def without_ephemeral_ports(
    listening_on: Mapping[str, Sequence[Address]], *, preferred: Sequence[int], first_chosen: int
) -> dict[str, list[Address]]:
    """Drop ephemeral ports (from `first_chosen` on) that the pod does not prefer."""
    return {
        name: [one for one in addresses if one.port < first_chosen or one.port in preferred]
        for name, addresses in listening_on.items()
    }


def containers_not_listening(
    pod: Json, listening_on: Mapping[str, Sequence[Address]]
) -> frozenset[str]:
    """Containers that declare ports and do not listen yet."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    declared = {str(one["name"]) for one in containers if one.get("ports")}
    return frozenset(name for name in declared if not listening_on.get(name))


def url_of(
    listening_on: Mapping[str, Sequence[Address]], *, preferred: Sequence[int]
) -> str | None:
    """The address to publish; preferred ports come first, in the order given."""
    addresses = [address for each in listening_on.values() for address in each]
    if not addresses:
        return None
    ranks = {port: rank for rank, port in enumerate(preferred)}
    best = min(addresses, key=lambda address: ranks.get(address.port, len(ranks)))
    host = f"[{best.host}]" if ":" in best.host else best.host
    return f"http://{host}:{best.port}/"


def shown_url(pod: Json) -> str | None:
    """The address in the pod's annotation."""
    url = ((pod.get("metadata") or {}).get("annotations") or {}).get(URL)
    return None if url is None else str(url)


def shown_port(pod: Json) -> int | None:
    """The local port of that address."""
    digits = (shown_url(pod) or "").rstrip("/").rpartition(":")[2]
    return int(digits) if digits.isdecimal() else None
