"""The log of one pod as lines of text, as they come.

Empty lines count, and so does a last line without its line break. Bytes that are no text are shown
as the replacement sign, never refused.
"""

from collections.abc import AsyncIterator, Mapping

from tfjob.client.http import Api
from tfjob.client.resource import PODS
from tfjob.k8s.pod import Pod


async def log_lines(api: Api, pod: Pod, params: Mapping[str, str]) -> AsyncIterator[str]:
    """Every line that the query asks for; an ApiError if there is no log."""
    path = PODS.item(pod.metadata.name, pod.metadata.namespace, subresource="log")
    rest = b""
    async with api.stream(path, params=params) as chunks:
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
