"""Extract series from data frames of results, and parameters from the spellings in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evenkey.papers.experiments.timed import LEAST, MOST, RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping


def series(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the series in a frame of results to a frame with one row per point.

    The other columns of the frame are repeated for each point. If a column of the points has the
    name of a column of the frame, the value of the point is used.
    """
    parts = []
    for row in frame.to_dict("records"):
        points = pd.DataFrame(row.pop("series"))
        # Lists of runs, too, are one value that each point has.
        others = {name: [value] * len(points) for name, value in row.items() if name not in points}
        parts.append(points.assign(**others))
    return pd.concat(parts, ignore_index=True)


def of_kinds(
    frame: pd.DataFrame, column: str, kinds: Mapping[str, str], figures: Mapping[str, str]
) -> pd.DataFrame:
    """Convert a frame with a column for each kind to a frame with one row for each kind.

    Parameters
    ----------
    frame
        Results. Their columns are repeated for each kind.
    column
        Name of the new column with the titles of the kinds.
    kinds
        Title of each kind, by its name.
    figures
        The column of a kind's figure, with ``{}`` for the name of the kind, by the name of the new
        column. Minima, maxima and runs of figures are converted, too.

    Examples
    --------
    >>> loads = pd.DataFrame({"load_pkg": [1.5], "load_kg": [2.5]})
    >>> of_kinds(loads, "method", {"pkg": "PKG", "kg": "KG"}, {"load": "load_{}"})
       load_pkg  load_kg method  load
    0       1.5      2.5    PKG   1.5
    1       1.5      2.5     KG   2.5
    """
    rows = []
    for row in frame.to_dict("records"):
        for kind, title in kinds.items():
            names = {
                f"{new}{end}": f"{old.format(kind)}{end}"
                for new, old in figures.items()
                for end in ("", LEAST, MOST, RUNS)
            }
            found = {new: row[old] for new, old in names.items() if old in row}
            rows.append({**row, column: title, **found})
    return pd.DataFrame(rows)


def spelled(spellings: pd.Series[str], parameter: str) -> pd.Series[float]:
    """Read the values of a parameter from spellings, such as z from ``zipf(z=1.2,keys=10)``."""
    return spellings.str.extract(rf"\b{parameter}=([\d.]+)", expand=False).astype(float)
