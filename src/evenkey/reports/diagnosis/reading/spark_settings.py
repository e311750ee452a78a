"""Spark's settings that decide what Spark itself does about skew, and their defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenkey.reports.diagnosis.reading import limits

if TYPE_CHECKING:
    from collections.abc import Mapping

ADAPTIVE = "spark.sql.adaptive.enabled"
COALESCE = "spark.sql.adaptive.coalescePartitions.enabled"
SPLIT_JOINS = "spark.sql.adaptive.skewJoin.enabled"
SPLIT_FACTOR = "spark.sql.adaptive.skewJoin.skewedPartitionFactor"
SPLIT_BYTES = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"
PIECE_BYTES = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
SPREAD_NULLS = "spark.sql.shuffle.spreadNullJoinKeys.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"

KNOWN: Mapping[str, str] = {
    ADAPTIVE: "true",
    COALESCE: "true",
    SPLIT_JOINS: "true",
    SPLIT_FACTOR: "5.0",
    SPLIT_BYTES: "256MB",
    PIECE_BYTES: "64MB",
    SPREAD_NULLS: "false",
    PARTITIONS: "200",
}
"""The settings that a diagnosis uses, with Spark's defaults."""

_SIZE = re.compile(r"(?P<number>\d{1,15})\s*(?P<unit>[kmgtp]?)b?", re.IGNORECASE)
_UNITS = "kmgtp"


def known_settings(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings in `KNOWN`, as texts."""
    return {name: limits.text(given[name]) for name in KNOWN if name in given}


def is_on(settings: Mapping[str, str], name: str) -> bool:
    """Return whether a setting is true; if it was not set, whether it is true by default."""
    return settings.get(name, KNOWN[name]).strip().lower() == "true"


def bytes_of(settings: Mapping[str, str], name: str) -> int:
    """Return a setting as a number of bytes; if it was not set or is no size, its default.

    Examples
    --------
    >>> bytes_of({PIECE_BYTES: "16m"}, PIECE_BYTES), bytes_of({}, SPLIT_BYTES)
    (16777216, 268435456)
    """
    found = _SIZE.fullmatch(settings.get(name, KNOWN[name]).strip())
    if found is None:
        return bytes_of({}, name)
    return int(found["number"]) << 10 * (_UNITS.find(found["unit"].lower() or "-") + 1)


def number_of(settings: Mapping[str, str], name: str) -> float:
    """Return a setting as a number; if it was not set or is no number, its default."""
    try:
        return limits.figure(settings.get(name, KNOWN[name]))
    except ValueError:
        return float(KNOWN[name])


def setting(name: str, value: object) -> str:
    """Return the line of code that changes a setting.

    Examples
    --------
    >>> setting(PARTITIONS, 64)
    'spark.conf.set("spark.sql.shuffle.partitions", "64")'
    """
    return f'spark.conf.set("{name}", "{value}")'


def version_of(text: str) -> tuple[int, int]:
    """Return the major and the minor version of Spark; (0, 0) if it is unknown.

    Examples
    --------
    >>> version_of("4.3.0"), version_of("3.5.1-amzn-0"), version_of("")
    ((4, 3), (3, 5), (0, 0))
    """
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
