"""Durations that users pass as text, in microseconds."""

from __future__ import annotations

import re

from evenkey.core.checking import check_text
from evenkey.core.errors import ConfigurationError

_PART = re.compile(
    r"\s*(\d+)\s+(week|day|hour|minute|second|millisecond|microsecond)s?(?=\s|$)", re.IGNORECASE
)
_MICROS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}


def micros(name: str, duration: object) -> int:
    """Return a duration in microseconds; `name` is the argument, for messages.

    Raises
    ------
    ConfigurationError
        It is no duration.

    Examples
    --------
    >>> micros("delay", "1 minute 30 seconds")
    90000000
    """
    check_text(name, duration, "1 minute")
    text, total = str(duration), 0
    end = 0
    while (part := _PART.match(text, end)) is not None:
        total += int(part[1]) * _MICROS[part[2].lower()]
        end = part.end()
    if not end or text[end:].strip():
        message = f"{name} = {text!r}: must be a duration, such as '1 minute'"
        raise ConfigurationError(message)
    return total
