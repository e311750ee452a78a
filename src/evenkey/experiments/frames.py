"""Frames of results: series taken out of them, numbers written for sentences."""

from __future__ import annotations

import pandas as pd

__all__ = ["series", "side_by_side"]


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


def side_by_side(frame: pd.DataFrame, figure: str, columns: dict[str, str]) -> pd.DataFrame:
    """Put columns below each other as one column `figure`, for a plot that compares them.

    `columns` says of each whose it is, such as ``ours`` or ``paper``; that is the column ``whose``.
    """
    return pd.concat(
        frame.assign(**{figure: frame[column], "whose": whose}) for column, whose in columns.items()
    )
