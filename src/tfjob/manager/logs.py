"""Log formats: a constant message with key-value pairs, as text or as JSON."""

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
_STANDARD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
}


def set_up(*, style: str, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if style == "json" else _Console())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[level])


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD_FIELDS}


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {key}={_quoted(value)}" for key, value in _extra_fields(record).items())
        text = f"{_timestamp(record)} {record.levelname:<7} {record.getMessage()}{fields}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        shown = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_extra_fields(record),
        }
        if record.exc_info:
            shown["stacktrace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(shown, enc_hook=str).decode()


def _quoted(value: object) -> str:
    """Quote and escape all but single words, so that user input cannot forge a log line."""
    text = str(value)
    is_word = text.isprintable() and " " not in text
    return text if is_word else msgspec.json.encode(text).decode()
