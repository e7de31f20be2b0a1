"""A connection to a cluster: the API client and the chosen namespace."""

import msgspec

from tfjob.client.http import Api


class Cluster(msgspec.Struct):
    """A connected API client and the chosen namespace; None means all namespaces."""

    api: Api
    namespace: str | None

    @property
    def one_namespace(self) -> str:
        return self.namespace or "default"
