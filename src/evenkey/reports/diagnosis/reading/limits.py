"""Limits on reading logs and servers, so that no input exhausts memory, disk or time."""

from __future__ import annotations

import math
from typing import Any

LINE_BYTES = 64 << 20
"""Maximum length of a line of a log. A longer line is skipped, and counted as unread."""

LOG_BYTES = 64 << 30
"""Maximum number of decompressed bytes to read of one log. The rest of the log is not read."""

LOG_SECONDS = 600.0
"""Maximum time to read one log. The rest of the log is not read."""

BLOCK_BYTES = 64 << 20
"""Maximum size of a block of an lz4 or snappy file; Spark's blocks hold 32 KiB by default."""

PLAN_DEPTH = 400
"""Maximum depth of a plan, in operators."""

TEXT_CHARACTERS = 10_000
"""Maximum length of a text, such as the line of an operator; longer texts are cut."""

ANSWER_BYTES = 256 << 20
"""Maximum size of an answer of a server, except for logs."""

ARCHIVE_BYTES = 16 << 30
"""Maximum size of an archive of logs from a history server, before and after decompression."""

ARCHIVE_FILES = 100_000
"""Maximum number of files in an archive of logs."""

DIRECTORY_BYTES = 32 << 20
"""Maximum size of the list of the files in an archive."""

PAGES_BYTES = 1 << 30
"""Maximum size of all answers of a server about one application, except for logs."""

SERVER_SECONDS = 600.0
"""Maximum time to read one application from a server."""

_LARGEST = 1 << 53


def whole(value: Any) -> int:
    """Convert a value to a count: a whole number from 0 to 2**53.

    Raises
    ------
    ValueError, TypeError, OverflowError
        The value is not a whole number, or is out of range.

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
        The value is not a number, or is out of range.

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
    """Convert a value to text; cut the text after `TEXT_CHARACTERS`."""
    return str(value)[:TEXT_CHARACTERS]
