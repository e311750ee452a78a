"""Leave out of a text what changes from run to run: dates, numbers of runs, temporary names."""

from __future__ import annotations

import re

_CHANGING = (
    # UUIDs
    re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
    # dates, with or without a time, such as 2026-11-25, 2026/11/25 and 2026-11-25T06:00:00Z
    re.compile(
        r"(?<!\d)(?:19|20)\d\d([-_/.])[01]?\d\1[0-3]?\d"
        r"(?:[T _]?[0-2]\d(?:[:_-]?[0-5]\d)*(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
    ),
    # numbers of six and more digits, such as 20261125, seconds since 1970 and numbers of runs
    re.compile(r"(?<![\d.])\d{6,}(?:T\d+Z?)?(?![\d.])"),
    # names of temporary files of Python, and hexadecimal names that have a digit
    re.compile(r"\btmp[a-z0-9_]{8}\b"),
    re.compile(r"(?<![0-9a-zA-Z])(?=[0-9a-f]*\d)[0-9a-f]{12,}(?![0-9a-zA-Z])"),
)
_PARTITION = re.compile(r"(?<=/)([^/=]+)=[^/]*")
_YEAR_AND_MONTH = re.compile(r"(?<=/)(?:19|20)\d\d(?:[-_/.]?[01]\d)?(?=/|$)")


def stable(text: str) -> str:
    """Replace dates, long numbers and temporary names in a text by ``*``.

    Examples
    --------
    >>> stable("sales_20261125 (day = 2026-11-25) AND (amount > 100)")
    'sales_* (day = *) AND (amount > 100)'
    """
    for pattern in _CHANGING:
        text = pattern.sub("*", text)
    return text


def stable_path(path: str) -> str:
    """Do the same in a path, also for years, months and the values of partitioned directories.

    Examples
    --------
    >>> stable_path("s3a://lake/clicks/country=TR/2026/11/25")
    's3a://lake/clicks/country=*/*'
    >>> stable_path("file:/tmp/tmpq7x_k2a9/2026-11/clicks.parquet")
    'file:/tmp/*/*/clicks.parquet'
    """
    text = _PARTITION.sub(r"\1=*", path)
    return _YEAR_AND_MONTH.sub("*", stable(text)).rstrip("/")
