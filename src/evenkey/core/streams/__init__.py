"""Streams of keyed messages, generated or read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.core.streams.base import SPAN_SECONDS, KeyStream, MessageBatch, MessageStream
from evenkey.core.streams.country import CountryHalfSkew, CountrySkew
from evenkey.core.streams.drift import Bursts, Drift
from evenkey.core.streams.entries import Entry, catalogue, generated
from evenkey.core.streams.file_stream import FileStream, SplitLines
from evenkey.core.streams.files import LineIndex, find_files
from evenkey.core.streams.published import Published
from evenkey.core.streams.row_index import RowIndex
from evenkey.core.streams.sampling import FirstRecords, SpreadRecords
from evenkey.core.streams.uniform import Uniform
from evenkey.core.streams.weighted import Weighted
from evenkey.core.streams.zipf import Zipf

if TYPE_CHECKING:
    from evenkey.core.streams.compressed import bare_name as bare_name
    from evenkey.core.streams.compressed import unpack as unpack
    from evenkey.core.streams.datasets import DatasetFormat as DatasetFormat
    from evenkey.core.streams.datasets import summarize_dataset as summarize_dataset
    from evenkey.core.streams.datasets import write_dataset as write_dataset
    from evenkey.core.streams.file_stream import Records as Records
    from evenkey.core.streams.formats import FORMATS as FORMATS
    from evenkey.core.streams.formats import Piece as Piece
    from evenkey.core.streams.row_groups import RowGroup as RowGroup
    from evenkey.core.streams.row_index import found_in as found_in
    from evenkey.core.streams.splits import Columns as Columns
    from evenkey.core.streams.splits import ColumnSplitter as ColumnSplitter
    from evenkey.core.streams.splits import Edges as Edges
    from evenkey.core.streams.splits import JsonLines as JsonLines
    from evenkey.core.streams.splits import Lines as Lines
    from evenkey.core.streams.splits import Split as Split
    from evenkey.core.streams.splits import Splitter as Splitter
    from evenkey.core.streams.splits import Words as Words
    from evenkey.core.streams.splits import as_text as as_text
    from evenkey.core.streams.splits import read_names as read_names
    from evenkey.core.streams.splits import read_types as read_types
    from evenkey.core.streams.splits import spell_names as spell_names
    from evenkey.core.streams.splits import vet as vet
    from evenkey.core.streams.splits.columns import EVENT_TIME as EVENT_TIME
    from evenkey.core.streams.splits.columns import value_name as value_name
    from evenkey.core.streams.splits.typed import Guess as Guess
    from evenkey.core.streams.suffixes import SplitName as SplitName
    from evenkey.core.streams.suffixes import check_input as check_input
    from evenkey.core.streams.suffixes import split_of as split_of

__all__ = [
    "SPAN_SECONDS",
    "Bursts",
    "CountryHalfSkew",
    "CountrySkew",
    "Drift",
    "Entry",
    "FileStream",
    "FirstRecords",
    "KeyStream",
    "LineIndex",
    "MessageBatch",
    "MessageStream",
    "Published",
    "RowIndex",
    "SplitLines",
    "SpreadRecords",
    "Uniform",
    "Weighted",
    "Zipf",
    "catalogue",
    "find_files",
    "generated",
]

__getattr__ = lazy_names(__name__)
