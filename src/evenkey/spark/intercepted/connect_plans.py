"""Read the analysed plan of a DataFrame over Spark Connect, from what the server prints.

`evenkey.spark.intercepted.classic_plans` has the same functions for classic sessions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SECTION = re.compile(r"^== (.*) ==$", re.MULTILINE)
_ANALYSED = "Analyzed Logical Plan"
_SCAN = re.compile(r"^\(\d+\) (?:File)?Scan \S+ *(?P<table>.*)$")
_LOCATION = re.compile(r"^Location: \w+ ?\[(?P<path>.*?)(?:, \.\.\. \d+ entries)?\]$")


def analysed(df: DataFrame) -> str:
    """Return the analysed plan as Spark prints it; this is one request."""
    text = _printed(df, "extended")
    parts = _SECTION.split(text)
    plan = parts[parts.index(_ANALYSED) + 1]
    # The first line lists the columns of the result.
    return plan.strip("\n").partition("\n")[2]


def locations(df: DataFrame) -> list[str]:
    """Return the first path of each file scan that does not read a table; this is one request."""
    found, named = [], False
    for line in _printed(df, "formatted").splitlines():
        scan = _SCAN.match(line)
        if scan is not None:
            named = bool(scan["table"].strip())
        location = _LOCATION.match(line)
        if location is not None and not named and location["path"]:
            found.append(location["path"])
    return found


def _printed(df: Any, mode: str) -> str:
    return str(df._explain_string(mode=mode))  # noqa: SLF001 - `explain` prints and returns nothing
