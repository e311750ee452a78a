"""Limits on reading logs and servers, so that no input exhausts memory, disk or time."""

from __future__ import annotations

import math
from typing import Any

LINE_BYTES = 64 << 20
"""Longest line of a log. A longer line is skipped, and counted as unread."""

LOG_BYTES = 64 << 30
"""Most bytes that are read of one log, after decompression. The rest is not read."""

LOG_SECONDS = 600.0
"""Longest time to read one log. The rest is not read."""

BLOCK_BYTES = 64 << 20
"""Largest block of an lz4 or snappy file; Spark's blocks hold 32 KiB by default."""

PLAN_DEPTH = 400
"""Largest depth of a plan, in operators."""

TEXT_CHARACTERS = 10_000
"""Number of characters that are kept of a text, such as the line of an operator."""

ANSWER_BYTES = 256 << 20
"""Largest answer of a server, except logs."""

ARCHIVE_BYTES = 16 << 30
"""Largest archive of logs from a history server, before and after decompression."""

SERVER_SECONDS = 600.0
"""Longest time to read one application from a server."""

_LARGEST = 1 << 53


def whole(value: Any) -> int:
    """Convert a value to a count, a whole number from 0 to 2**53.

    Raises
    ------
    ValueError, TypeError, OverflowError
        The value is not such a number.

    Examples
    --------
    >>> whole("12"), whole(7.0)
    (12, 7)
    """
    found = int(value)
    if not 0 <= found <= _LARGEST:
        message = "not a count"
        raise ValueError(message)
    return found


def figure(value: Any) -> float:
    """Convert a value to a number from -2**53 to 2**53, such as a time.

    Raises
    ------
    ValueError, TypeError, OverflowError
        The value is not such a number.

    Examples
    --------
    >>> figure("1.5")
    1.5
    """
    found = float(value)
    if not math.isfinite(found) or abs(found) > _LARGEST:
        message = "not a number in range"
        raise ValueError(message)
    return found


def text(value: Any) -> str:
    """Convert a value to text, shortened if it is very long."""
    return str(value)[:TEXT_CHARACTERS]
