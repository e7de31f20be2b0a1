"""How the operator logs: a constant message, facts as key-values, for people or for machines."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up(*, style: str, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if style == "json" else _Console())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[level])


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _OWN}


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {key}={_shown(value)}" for key, value in _facts(record).items())
        text = f"{_moment(record)} {record.levelname:<7} {record.getMessage()}{facts}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        shown = {
            "ts": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            shown["stacktrace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(shown, enc_hook=str).decode()


def _shown(value: object) -> str:
    """In quotes and escaped where it is no single word: text of users begins no line of its own."""
    text = str(value)
    is_word = text.isprintable() and " " not in text
    return text if is_word else msgspec.json.encode(text).decode()
