"""A pod that serves: whether it does yet, and under which address people of this machine reach it.

Its law: only pods of a Deployment or a ReplicaSet are taken for servers. One that declares ports is
ready when it listens, any other when it runs; a port that the system chose is nobody's address. It
must not know how listening is found out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.local.node.sockets import Address

Json = Mapping[str, Any]
URL = "tfjob.dev/url"
_OWNERS = frozenset({"Deployment", "ReplicaSet"})


def is_server(pod: Json) -> bool:
    """Whether somebody keeps this pod running so that it can be reached."""
    refs = (pod.get("metadata") or {}).get("ownerReferences") or ()
    return any(ref.get("kind") in _OWNERS and ref.get("controller") for ref in refs)


def without_ephemeral_ports(
    listening_on: Mapping[str, Sequence[Address]], *, preferred: Sequence[int], first_chosen: int
) -> dict[str, list[Address]]:
    """Without the ports that the system chose (from `first_chosen` on): helpers of a server."""
    return {
        name: [one for one in addresses if one.port < first_chosen or one.port in preferred]
        for name, addresses in listening_on.items()
    }


def containers_not_listening(
    pod: Json, listening_on: Mapping[str, Sequence[Address]]
) -> frozenset[str]:
    """The containers that should listen by what they declare, and do not yet."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    declared = {str(one["name"]) for one in containers if one.get("ports")}
    return frozenset(name for name in declared if not listening_on.get(name))


def url_of(
    listening_on: Mapping[str, Sequence[Address]], *, preferred: Sequence[int]
) -> str | None:
    """The address to show; a preferred port wins over what else is open, in the order given."""
    addresses = [address for each in listening_on.values() for address in each]
    if not addresses:
        return None
    ranks = {port: rank for rank, port in enumerate(preferred)}
    best = min(addresses, key=lambda address: ranks.get(address.port, len(ranks)))
    host = f"[{best.host}]" if ":" in best.host else best.host
    return f"http://{host}:{best.port}/"


def shown_url(pod: Json) -> str | None:
    """The address that the API shows for the pod."""
    url = ((pod.get("metadata") or {}).get("annotations") or {}).get(URL)
    return None if url is None else str(url)


def shown_port(pod: Json) -> int | None:
    """The local port of that address."""
    digits = (shown_url(pod) or "").rstrip("/").rpartition(":")[2]
    return int(digits) if digits.isdecimal() else None
