"""Key streams: generated ones, and those in users' files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late
from evenkey.streams.base import SPAN_SECONDS, KeyStream, MessageBatch, MessageStream
from evenkey.streams.cashtags import Cashtags
from evenkey.streams.country import CountryHalfSkew, CountrySkew
from evenkey.streams.drift import Drift
from evenkey.streams.entries import Entry, catalogue, generated
from evenkey.streams.file_stream import FileStream, SplitLines
from evenkey.streams.files import LineIndex, find_files
from evenkey.streams.graph import GraphLookAlike
from evenkey.streams.lognormal import Lognormal
from evenkey.streams.look_alike import LookAlike
from evenkey.streams.published import Published
from evenkey.streams.record_look_alike import RecordLookAlike
from evenkey.streams.rows import RowIndex
from evenkey.streams.sampling import FirstRecords, SpreadRecords
from evenkey.streams.uniform import Uniform
from evenkey.streams.zipf import Zipf

if TYPE_CHECKING:
    from evenkey.streams.compressed import bare_name as bare_name
    from evenkey.streams.compressed import unpack as unpack
    from evenkey.streams.datasets import DatasetFormat as DatasetFormat
    from evenkey.streams.datasets import summarize_dataset as summarize_dataset
    from evenkey.streams.datasets import write_dataset as write_dataset
    from evenkey.streams.file_stream import Records as Records
    from evenkey.streams.row_groups import RowGroup as RowGroup
    from evenkey.streams.row_groups import find_row_groups as find_row_groups
    from evenkey.streams.row_groups import read_group as read_group
    from evenkey.streams.rows import found_in as found_in
    from evenkey.streams.splits import SPLITTERS as SPLITTERS
    from evenkey.streams.splits import Columns as Columns
    from evenkey.streams.splits import CsvRecords as CsvRecords
    from evenkey.streams.splits import Edges as Edges
    from evenkey.streams.splits import JsonLines as JsonLines
    from evenkey.streams.splits import Split as Split
    from evenkey.streams.splits import Splitter as Splitter
    from evenkey.streams.splits import Words as Words
    from evenkey.streams.splits import read_names as read_names
    from evenkey.streams.splits import read_types as read_types
    from evenkey.streams.splits import spell_names as spell_names
    from evenkey.streams.splits import vet as vet
    from evenkey.streams.splits.columns import EVENT_TIME as EVENT_TIME
    from evenkey.streams.splits.columns import value_name as value_name
    from evenkey.streams.splits.typed import Guess as Guess
    from evenkey.streams.suffixes import SplitName as SplitName
    from evenkey.streams.suffixes import check_input as check_input
    from evenkey.streams.suffixes import split_of as split_of

__all__ = [
    "SPAN_SECONDS",
    "Cashtags",
    "CountryHalfSkew",
    "CountrySkew",
    "Drift",
    "Entry",
    "FileStream",
    "FirstRecords",
    "GraphLookAlike",
    "KeyStream",
    "LineIndex",
    "Lognormal",
    "LookAlike",
    "MessageBatch",
    "MessageStream",
    "Published",
    "RecordLookAlike",
    "RowIndex",
    "SplitLines",
    "SpreadRecords",
    "Uniform",
    "Zipf",
    "catalogue",
    "find_files",
    "generated",
]

__getattr__ = late(
    __name__,
    {
        "Columns": "evenkey.streams.splits",
        "CsvRecords": "evenkey.streams.splits",
        "DatasetFormat": "evenkey.streams.datasets",
        "EVENT_TIME": "evenkey.streams.splits.columns",
        "Edges": "evenkey.streams.splits",
        "Guess": "evenkey.streams.splits.typed",
        "JsonLines": "evenkey.streams.splits",
        "Records": "evenkey.streams.file_stream",
        "RowGroup": "evenkey.streams.row_groups",
        "SPLITTERS": "evenkey.streams.splits",
        "Split": "evenkey.streams.splits",
        "SplitName": "evenkey.streams.suffixes",
        "Splitter": "evenkey.streams.splits",
        "Words": "evenkey.streams.splits",
        "check_input": "evenkey.streams.suffixes",
        "find_row_groups": "evenkey.streams.row_groups",
        "found_in": "evenkey.streams.rows",
        "read_group": "evenkey.streams.row_groups",
        "read_names": "evenkey.streams.splits",
        "read_types": "evenkey.streams.splits",
        "spell_names": "evenkey.streams.splits",
        "split_of": "evenkey.streams.suffixes",
        "bare_name": "evenkey.streams.compressed",
        "unpack": "evenkey.streams.compressed",
        "value_name": "evenkey.streams.splits.columns",
        "vet": "evenkey.streams.splits",
        "summarize_dataset": "evenkey.streams.datasets",
        "write_dataset": "evenkey.streams.datasets",
    },
)
