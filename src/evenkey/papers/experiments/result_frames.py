"""Frames of results: series taken out of them, numbers read from spellings."""

from __future__ import annotations

import pandas as pd


def series(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the series out of a frame of results: a row a point.

    The other columns are repeated; where a point has a column of the same name, it is the
    point's.
    """
    parts = []
    for row in frame.to_dict("records"):
        points = pd.DataFrame(row.pop("series"))
        parts.append(points.assign(**{k: v for k, v in row.items() if k not in points}))
    return pd.concat(parts, ignore_index=True)


def spelled(spellings: pd.Series[str], parameter: str) -> pd.Series[float]:
    """Read a parameter's numbers out of spellings, such as z out of ``zipf(z=1.2,keys=10)``."""
    return spellings.str.extract(rf"\b{parameter}=([\d.]+)", expand=False).astype(float)
