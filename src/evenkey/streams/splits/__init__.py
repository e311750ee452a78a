"""Splitters: what messages raw lines hold, or why they hold none."""

from __future__ import annotations

from evenkey.streams.splits.base import RawMessages, Split, Splitter, vet
from evenkey.streams.splits.columns import Columns, read_names, spell_names
from evenkey.streams.splits.csv_records import CsvRecords
from evenkey.streams.splits.edges import Edges
from evenkey.streams.splits.election import TwitterElection
from evenkey.streams.splits.json_lines import JsonLines
from evenkey.streams.splits.tables import (
    TwitterTicker,
    WikipediaClickstream,
    WikipediaPageviews,
    WikipediaPageviewsByLang,
)
from evenkey.streams.splits.text import Country, Lines, Words
from evenkey.streams.splits.typed import read_types

__all__ = [
    "SPLITTERS",
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
