"""Key streams: generated ones, and those in users' files."""

from __future__ import annotations

from evenkey.streams.base import SPAN_SECONDS, KeyStream, MessageBatch, MessageStream
from evenkey.streams.cashtags import Cashtags
from evenkey.streams.catalogue import Entry, catalogue, generated
from evenkey.streams.country import CountryHalfSkew, CountrySkew
from evenkey.streams.drift import Drift
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
