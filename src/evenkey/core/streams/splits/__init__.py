"""Splitters: they find the messages in raw lines, or the reason why a line is rejected."""

from __future__ import annotations

from evenkey.core.streams.splits.base import RawMessages, Split, Splitter, as_text, vet
from evenkey.core.streams.splits.column_splitter import ColumnSplitter
from evenkey.core.streams.splits.columns import Columns, read_names, spell_names
from evenkey.core.streams.splits.csv_records import CsvRecords
from evenkey.core.streams.splits.dkg_data_sets import (
    Country,
    TwitterTicker,
    WikipediaClickstream,
    WikipediaPageviews,
    WikipediaPageviewsByLang,
)
from evenkey.core.streams.splits.election import TwitterElection
from evenkey.core.streams.splits.json_lines import JsonLines
from evenkey.core.streams.splits.text import Edges, Lines, Words
from evenkey.core.streams.splits.typed import read_types

__all__ = [
    "SPLITTERS",
    "ColumnSplitter",
    "Columns",
    "Country",
    "CsvRecords",
    "Edges",
    "JsonLines",
    "Lines",
    "RawMessages",
    "Split",
    "Splitter",
    "TwitterElection",
    "TwitterTicker",
    "WikipediaClickstream",
    "WikipediaPageviews",
    "WikipediaPageviewsByLang",
    "Words",
    "as_text",
    "read_names",
    "read_types",
    "spell_names",
    "vet",
]

SPLITTERS: dict[str, Splitter] = {
    splitter.name: splitter
    for splitter in (
        Words(),
        Lines(),
        Country(),
        Edges(),
        TwitterElection(),
        TwitterTicker(),
        WikipediaClickstream(),
        WikipediaPageviews(),
        WikipediaPageviewsByLang(),
    )
}
"""The splitters that need no parameters, by name."""
