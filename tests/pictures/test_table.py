"""Tables: raw values for JSON, formatted ones for readers."""

from __future__ import annotations

import json

import pandas as pd

from evenkey.reports.pictures import Column, Table

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


def test_a_crossed_table_has_a_column_a_value_in_the_order_in_which_they_come():
    frame = pd.DataFrame(
        {
            "stream": ["WP", "WP", "TW", "TW"],
            "workers": [50, 5, 50, 5],
            "share": [0.5, 0.25, 0.125, 1.0],
        }
    )
    table = Table.crossed(
        "Shares", frame, [Column("stream", "Stream")], "workers", Column("share", "W = {}", ".1f")
    )
    assert [column.title for column in table.columns] == ["Stream", "W = 50", "W = 5"]
    assert table.rows() == [
        {"stream": "WP", "50": 0.5, "5": 0.25},
        {"stream": "TW", "50": 0.125, "5": 1.0},
    ]


def test_a_crossed_table_has_empty_cells_for_missing_figures():
    frame = pd.DataFrame({"stream": ["WP", "TW"], "method": ["KG", "PKG"], "share": [0.5, 0.25]})
    table = Table.crossed(
        "Shares", frame, [Column("stream", "Stream")], "method", Column("share", "{}", ".2f")
    )
    assert table.cells() == [["WP", "0.50", "-"], ["TW", "-", "0.25"]]
