"""Tables: raw figures for JSON, written ones for readers."""

from __future__ import annotations

import json

import pandas as pd

from evenkey.experiments import Column, Table

TABLE = Table(
    "Figures",
    [Column("name", "Name"), Column("keys", "Keys", ",d"), Column("share", "Share, %", ".2f")],
    pd.DataFrame({"name": ["a", "b"], "keys": [1_000_000.0, None], "share": [9.318, 1.0], "x": 1}),
)


def test_rows_are_json():
    assert json.loads(json.dumps(TABLE.rows(), allow_nan=False)) == [
        {"name": "a", "keys": 1_000_000, "share": 9.318},
        {"name": "b", "keys": None, "share": 1.0},
    ]


def test_cells_are_written():
    assert TABLE.cells() == [["a", "1,000,000", "9.32"], ["b", "-", "1.00"]]
