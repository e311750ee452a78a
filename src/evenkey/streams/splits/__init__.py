"""Splitters: what messages raw lines hold, or why they hold none."""

from __future__ import annotations

from evenkey.streams.splits.base import Found, Split, Splitter, vet
from evenkey.streams.splits.records import CsvRecords, JsonLines
from evenkey.streams.splits.text import Lines, Words

__all__ = ["CsvRecords", "Found", "JsonLines", "Lines", "Split", "Splitter", "Words", "vet"]
