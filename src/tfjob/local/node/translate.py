"""Turns the names and paths of a cluster into those of this machine, in texts given to a process.

Its law: `<service>.<namespace>.svc[.domain][:port]` becomes an address on loopback, a path below a
mount becomes the path below its folder; in arguments, every address becomes loopback and `--port`
the port that stands for it. All else stays, and what the API shows is never touched. It must not
know how ports are handed out or where folders come from.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

LOOPBACK = "127.0.0.1"
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_HOST = re.compile(rf"(?<![\w.@-])({_LABEL}(?:\.{_LABEL})*)(?:\.?:(\d{{1,5}})(?!\d))?(?![\w@-])")

_NUMBERED = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?-\d+")
_EVERYWHERE = re.compile(r"(?<![\w.])0\.0\.0\.0(?::(\d{1,5}))?(?![\w.])(?!/\d)")
# Two colons mean much else inside a text, so only a whole word is taken for an address.
_EVERYWHERE_6 = re.compile(r"(--?[\w-]+=)?(?:::|\[::\](?::(\d{1,5}))?)")
_PORT_FLAG = "--port"
_PORT_OPTION = re.compile(r"(?<![\w-])(--port[= ])(\d{1,5})(?![\w.])")


class Mount(msgspec.Struct, frozen=True):
    """A path inside the container and the place on this machine that stands for it."""

    mount_path: str
    place: str


class Directory(Protocol):
    """Knows which local port stands for a port of a named service or pod."""

    def is_known(self, namespace: str, name: str) -> bool:
        """Whether a service of this name is there."""

    def port(self, namespace: str, name: str, port: int) -> int:
        """The local port; handed out now if nobody asked before."""


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a text of one container is translated by."""

    namespace: str
    mounts: tuple[Mount, ...]
    directory: Directory
    own_ports: Mapping[int, int] = {}

    def text(self, text: str) -> str:
        """The text with hosts and paths of this machine."""
        return self._hosts(self._paths(text))

    def mapping(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in variables.items()}

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """The arguments of a command: what it listens on is its own affair, but on loopback."""
        spoken = [self._everywhere(self.text(word)) for word in words]
        for place, (flag, word) in enumerate(pairwise(words), start=1):
            if flag == _PORT_FLAG and word.isdecimal():
                spoken[place] = self._own_port(word)
        return tuple(_PORT_OPTION.sub(self._port_option, word) for word in spoken)

    def _everywhere(self, word: str) -> str:
        whole = _EVERYWHERE_6.fullmatch(word)
        if whole is not None:
            return (whole[1] or "") + self._loopback(whole[2])
        return _EVERYWHERE.sub(lambda match: self._loopback(match[1]), word)

    def _loopback(self, port: str | None) -> str:
        return LOOPBACK if port is None else f"{LOOPBACK}:{self._own_port(port)}"

    def _port_option(self, match: re.Match[str]) -> str:
        return match[1] + self._own_port(match[2])

    def _own_port(self, digits: str) -> str:
        return str(self.own_ports.get(int(digits), digits))

    def path(self, path: str) -> str:
        """A path as a whole, such as a working directory."""
        for mount in self._longest_first():
            if path == mount.mount_path or path.startswith(mount.mount_path + "/"):
                return mount.place + path[len(mount.mount_path) :]
        return path

    def _longest_first(self) -> list[Mount]:
        cleaned = [Mount(m.mount_path.rstrip("/"), m.place) for m in self.mounts]
        usable = [mount for mount in cleaned if mount.mount_path]
        return sorted(usable, key=lambda mount: -len(mount.mount_path))

    def _paths(self, text: str) -> str:
        places = {mount.mount_path: mount.place for mount in self._longest_first()}
        if not places:
            return text
        known = "|".join(re.escape(path) for path in places)
        pattern = rf"(?:(?<![\w./-])|(?<=file://))({known})(?=$|/|[^\w.-])"
        return re.sub(pattern, lambda match: places[match[1]], text)

    def _hosts(self, text: str) -> str:
        if ":" not in text and ".svc" not in text:
            return text  # most texts; the pattern below would look at every word
        is_roster = any(self._is_known_number(match) for match in _HOST.finditer(text))
        return _HOST.sub(lambda match: self._host(match, is_roster=is_roster), text)

    def _is_known_number(self, match: re.Match[str]) -> bool:
        """Whether this is one of several numbered services, such as `ps-0:2222`."""
        is_numbered = match[2] is not None and _NUMBERED.fullmatch(match[1]) is not None
        return is_numbered and self.directory.is_known(self.namespace, match[1])

    def _host(self, match: re.Match[str], *, is_roster: bool) -> str:
        address = self._address(match[1].split("."), has_port=match[2] is not None)
        if address is None and is_roster and match[2] and _NUMBERED.fullmatch(match[1]):
            # Its peers are listed beside it, and their services may come a moment later.
            address = self.namespace, match[1]
        if address is None:
            return match[0]
        if match[2] is None:
            return LOOPBACK
        namespace, name = address
        return f"{LOOPBACK}:{self.directory.port(namespace, name, int(match[2]))}"

    def _address(self, labels: list[str], *, has_port: bool) -> tuple[str, str] | None:
        """Namespace and name that a host means; None if it means nothing in the cluster."""
        if "svc" in labels[2:]:
            place = labels.index("svc", 2)
            return labels[place - 1], ".".join(labels[: place - 1])
        if not has_port or len(labels) > 2:
            return None
        name, namespace = labels[0], labels[1] if len(labels) == 2 else self.namespace
        return (namespace, name) if self.directory.is_known(namespace, name) else None
