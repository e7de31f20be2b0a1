"""The log of one pod as lines of text, as they are written.

Empty lines are included, and so is a last line without a line break. Bytes that are not UTF-8 are
replaced.
"""

from collections.abc import AsyncIterator, Callable, Mapping

from tfjob.client.http import Api
from tfjob.client.resource import PODS
from tfjob.k8s.pod import Pod


async def log_lines(
    api: Api,
    pod: Pod,
    params: Mapping[str, str],
    *,
    on_progress: Callable[[str], None] | None = None,
) -> AsyncIterator[str]:
    """Yield the requested lines; raises ApiError if there is no log.

    `on_progress` gets the newest text of an unfinished line that is overwritten with carriage
    returns, as progress bars do.
    """
    path = PODS.item(pod.metadata.name, pod.metadata.namespace, subresource="log")
    rest = b""
    async with api.stream(path, params=params) as chunks:
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
            if on_progress is not None and b"\r" in rest:
                on_progress(rest.decode(errors="replace"))
    if rest:
        yield rest.decode(errors="replace")
