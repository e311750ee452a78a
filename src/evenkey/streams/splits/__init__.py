"""Splitters: what messages raw lines hold, or why they hold none."""

from __future__ import annotations

from evenkey.streams.splits.base import RawMessages, Split, Splitter, vet
from evenkey.streams.splits.edges import Edges
from evenkey.streams.splits.election import TwitterElection
from evenkey.streams.splits.records import CsvRecords, JsonLines
from evenkey.streams.splits.tables import (
    TwitterTicker,
    WikipediaClickstream,
    WikipediaPageviews,
    WikipediaPageviewsByLang,
)
from evenkey.streams.splits.text import Country, Lines, Words

__all__ = [
    "SPLITTERS",
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
