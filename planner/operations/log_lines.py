"""Log records as lines: JSON for machines, plain text for people. Neither lets a value from outside start a line of its own."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from planner.operations.journal import REQUEST_ID, route_of

# Line ends and other control characters, C1 and Unicode's own line separators among them, as the escapes that Python writes for them.
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class WithoutAddresses(logging.Filter):
    """Puts the route in the place of the path where Django logs one: a path may be a secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            record.args = tuple(route_of(request) if arg == request.path else arg for arg in record.args)
        return True


class JsonLines(logging.Formatter):
    """One object a line: time (UTC), level, logger, request_id, message, the record's own fields, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "request_id": REQUEST_ID.get(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


class TextLines(logging.Formatter):
    """The same for a terminal: time, level, request id, logger, message, name=value."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in getattr(record, "fields", {}).items())
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        line = f"{time} {record.levelname} {REQUEST_ID.get()[:8]} {record.name} {record.getMessage()}{fields}".translate(_CONTROLS)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
