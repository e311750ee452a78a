"""Extract series from data frames of results, and parameters from the spellings in them."""

from __future__ import annotations

import pandas as pd


def series(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the series in a frame of results to a frame with one row per point.

    The other columns of the frame are repeated for each point. If a column of the points has the
    name of a column of the frame, the value of the point is used.
    """
    parts = []
    for row in frame.to_dict("records"):
        points = pd.DataFrame(row.pop("series"))
        parts.append(points.assign(**{k: v for k, v in row.items() if k not in points}))
    return pd.concat(parts, ignore_index=True)


def spelled(spellings: pd.Series[str], parameter: str) -> pd.Series[float]:
    """Read the values of a parameter from spellings, such as z from ``zipf(z=1.2,keys=10)``."""
    return spellings.str.extract(rf"\b{parameter}=([\d.]+)", expand=False).astype(float)
