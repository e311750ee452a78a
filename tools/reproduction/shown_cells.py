"""Cells of stored tables as a page shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Shape = Callable[[Mapping[str, Any]], "list[Mapping[str, Any]]"]

__all__ = ["arranged", "shown"]

_CODE = re.compile(r"(`[^`]*`|\]\([^)]*\))")
_POWER = re.compile(r"(?<![\w.])([-+]?)(\d+(?:\.\d+)?)e([-+]\d+)(?![\d.])")
_NEGATIVE_ZERO = re.compile(r"(?<![\w.])-(0(?:\.0+)?)(?![\d.])")
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
_WHOLE = re.compile(r"(?<![\d.,])\d{4,}(?![\d.,])")
_COUNTS = re.compile(r"\d{4,}(?: \(\d+ to \d+\))?")


def shown(text: str) -> str:
    r"""Write the numbers of a text for readers; code and addresses of links stay as they are.

    Examples
    --------
    >>> ascii(shown("8.0e-07 (0.0e+00 to -0.5)"))
    "'8.0e\\u20117 (0 to \\u22120.5)'"
    >>> shown("-0.000"), shown("1304 (1262 to 1333)"), shown("`--seed -1`")
    ('0.000', '1,304 (1,262 to 1,333)', '`--seed -1`')
    """
    if text == "-":
        return "\N{EN DASH}"
    if _COUNTS.fullmatch(text):
        text = _WHOLE.sub(lambda found: f"{int(found[0]):,}", text)
    parts = _CODE.split(text)
    parts[::2] = [
        _MINUS.sub("\N{MINUS SIGN}", _NEGATIVE_ZERO.sub(r"\1", _POWER.sub(_power, each)))
        for each in parts[::2]
    ]
    return "".join(parts)


def _power(found: re.Match[str]) -> str:
    sign, factor, power = found.groups()
    if float(factor) == 0:
        return "0"
    return f"{sign}{factor}e{int(power)}".replace("e-", "e\N{NON-BREAKING HYPHEN}")


def arranged(experiment: str, table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables by which the page of an experiment shows a stored one.

    The columns of stored tables are those that criteria name. A table with many of them is shown
    with a row for each setting.
    """
    return _SHAPES.get((experiment, table["title"]), _as_it_is)(table)


def _as_it_is(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [table]


def _by_setting(first: str) -> Shape:
    """Turn groups of columns, each begun by a title such as ``T = 10 s: s, ours``, into rows."""

    def shape(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        titles = table["columns"]
        starts = [place for place, title in enumerate(titles) if ": " in title]
        wide = starts[1] - starts[0]
        settings = [titles[start].partition(": ")[0] for start in starts]
        kept = [titles[starts[0]].partition(": ")[2], *titles[starts[0] + 1 : starts[0] + wide]]
        cells = [
            [setting, row[0], *row[start : start + wide]]
            for setting, start in zip(settings, starts, strict=True)
            for row in table["cells"]
        ]
        return [{**table, "columns": [first, titles[0], *kept], "cells": cells}]

    return shape


def _parts(begun_by: Mapping[str, str]) -> Shape:
    """Show a stored table as several, each with the first column and some of the others.

    Parameters
    ----------
    begun_by
        Title of each part, and the column with which it begins; it ends where the next one begins.
    """

    def shape(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        titles = table["columns"]
        starts = [titles.index(column) for column in begun_by.values()]
        return [
            {
                **table,
                "title": title,
                "columns": [titles[0], *titles[start:end]],
                "cells": [[row[0], *row[start:end]] for row in table["cells"]],
            }
            for title, start, end in zip(begun_by, starts, [*starts[1:], None], strict=True)
        ]

    return shape


def _by_workers(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Show a table per number of workers; a stream with one key has no others."""
    place = table["columns"].index("Workers")
    found: dict[str, list[list[str]]] = {}
    for row in table["cells"]:
        others = ["-" if cell == "0.000" else cell for cell in row]
        found.setdefault(row[place], []).append(others[:place] + others[place + 1 :])
    columns = table["columns"][:place] + table["columns"][place + 1 :]
    return [
        {
            **table,
            "title": f"{table['title']}, {workers} workers",
            "columns": columns,
            "cells": rows,
        }
        for workers, rows in found.items()
    ]


def _prefixed(text: str) -> Shape:
    return lambda table: [
        {**table, "columns": [table["columns"][0], *(text + each for each in table["columns"][1:])]}
    ]


def _with(**texts: str) -> Shape:
    return lambda table: [{**table, **texts}]


_SHAPES: Mapping[tuple[str, str], Shape] = {
    ("pkg-table-3", "Costs of a message, D"): _by_setting("Cost D"),
    ("pkg-table-3", "Aggregation periods, T"): _by_setting("Period T"),
    ("dkg-table-3-spark", "Throughput and latency, measured"): _parts(
        {
            "Throughput, measured": "Throughput, messages/s, ours",
            "Latency, measured": "Latency, ms, ours",
            "Time of an epoch, measured": "An epoch, ms, p50",
        }
    ),
    ("pkg-figure-3", "Messages a week"): _prefixed("Cashtag "),
    ("dkg-section-4-2", "Workers of the hot key and of the others"): _by_workers,
    ("dkg-section-4-2", "Pools and entries"): _with(
        note="Keys that were old: in the old space at one of the readings so far."
    ),
    ("dkg-section-4-3", "DKG with a part of its rules"): _with(
        title="DKG with and without parts of its rules"
    ),
}
"""Shapes of tables, by experiment and title of the stored table."""
