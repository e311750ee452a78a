"""Limits on reading logs and servers, so that no input takes all memory, disk or time."""

from __future__ import annotations

import math
from typing import Any

LINE_BYTES = 64 << 20
"""Longest line of a log. A longer one is skipped, and counted as unread."""

LOG_BYTES = 64 << 30
"""Most that is unpacked of one log. What comes after is not read."""

LOG_SECONDS = 600.0
"""Longest time for one log. What comes after is not read."""

BLOCK_BYTES = 64 << 20
"""Largest block of what lz4 or snappy packed; Spark's own hold 32 KiB unless set otherwise."""

PLAN_DEPTH = 400
"""Operators above each other in a plan."""

TEXT_CHARACTERS = 10_000
"""Characters that are kept of a text, such as the line of an operator."""

ANSWER_BYTES = 256 << 20
"""Largest answer of a server, except logs."""

ARCHIVE_BYTES = 16 << 30
"""Largest archive of logs from a history server, packed and unpacked."""

SERVER_SECONDS = 600.0
"""Longest time to ask a server for one application."""

_LARGEST = 1 << 53


def whole(value: Any) -> int:
    """Read a count, at least 0.

    Raises
    ------
    ValueError, TypeError, OverflowError
        It is none, or larger than any count.

    Examples
    --------
    >>> whole("12"), whole(7.0)
    (12, 7)
    """
    found = int(value)
    if not 0 <= found <= _LARGEST:
        message = "no count"
        raise ValueError(message)
    return found


def figure(value: Any) -> float:
    """Read a number that is neither infinite nor larger than any time.

    Raises
    ------
    ValueError, TypeError, OverflowError
        It is none.

    Examples
    --------
    >>> figure("1.5")
    1.5
    """
    found = float(value)
    if not math.isfinite(found) or abs(found) > _LARGEST:
        message = "no number"
        raise ValueError(message)
    return found


def text(value: Any) -> str:
    """Give a value as text, shortened if it is very long."""
    return str(value)[:TEXT_CHARACTERS]
