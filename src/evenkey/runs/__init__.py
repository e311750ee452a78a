"""The life of a run: directory, epochs, driving, pausing, reporting; it knows no pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late

if TYPE_CHECKING:
    from evenkey.runs.closing import closing_rows as closing_rows
    from evenkey.runs.directory import RunDirectory as RunDirectory
    from evenkey.runs.epoch_files import DEAD_LETTERS as DEAD_LETTERS
    from evenkey.runs.epoch_files import SPLITS as SPLITS
    from evenkey.runs.epoch_files import EpochFiles as EpochFiles
    from evenkey.runs.epochs import READ as READ
    from evenkey.runs.epochs import late_rows as late_rows
    from evenkey.runs.epochs import overflowed_results as overflowed_results
    from evenkey.runs.epochs import read_records as read_records
    from evenkey.runs.job import Job as Job
    from evenkey.runs.job import Outcome as Outcome
    from evenkey.runs.job import Work as Work
    from evenkey.runs.local_copies import local_copy as local_copy
    from evenkey.runs.parts import Part as Part
    from evenkey.runs.places import output_store as output_store
    from evenkey.runs.progress import EpochProgress, OnProgress
    from evenkey.runs.recalling import keep_reading as keep_reading
    from evenkey.runs.recalling import recall_reading as recall_reading
    from evenkey.runs.recalling import tuples as tuples
    from evenkey.runs.recorder import Recorder as Recorder
    from evenkey.runs.recorder import run_info as run_info
    from evenkey.runs.results import committed_tables as committed_tables
    from evenkey.runs.results import read_results
    from evenkey.runs.runner import execute as execute
    from evenkey.runs.runner import run as run
    from evenkey.runs.runner import variants as variants
    from evenkey.runs.sinks import ConsoleSink as ConsoleSink
    from evenkey.runs.sinks import FileSink as FileSink
    from evenkey.runs.sinks import MemorySink as MemorySink
    from evenkey.runs.sinks import Sink as Sink
    from evenkey.runs.sources import MESSAGES as MESSAGES
    from evenkey.runs.sources import DealtReading as DealtReading
    from evenkey.runs.sources import GeneratorReading as GeneratorReading
    from evenkey.runs.sources import LinesReading as LinesReading
    from evenkey.runs.sources import Reading as Reading
    from evenkey.runs.sources import RowsReading as RowsReading
    from evenkey.runs.sources import spelled as spelled
    from evenkey.runs.sources import stream_of as stream_of
    from evenkey.runs.tallies import Tallies as Tallies
    from evenkey.runs.timing import Timing as Timing
    from evenkey.runs.timing import epochs_of as epochs_of
    from evenkey.runs.timing import span as span
    from evenkey.runs.topic_sink import KafkaSink as KafkaSink

__all__ = ["EpochProgress", "OnProgress", "read_results"]

__getattr__ = late(
    __name__,
    {
        "ConsoleSink": "evenkey.runs.sinks",
        "DEAD_LETTERS": "evenkey.runs.epoch_files",
        "DealtReading": "evenkey.runs.sources",
        "EpochFiles": "evenkey.runs.epoch_files",
        "FileSink": "evenkey.runs.sinks",
        "GeneratorReading": "evenkey.runs.sources",
        "Job": "evenkey.runs.job",
        "KafkaSink": "evenkey.runs.topic_sink",
        "LinesReading": "evenkey.runs.sources",
        "MESSAGES": "evenkey.runs.sources",
        "MemorySink": "evenkey.runs.sinks",
        "Outcome": "evenkey.runs.job",
        "Part": "evenkey.runs.parts",
        "Reading": "evenkey.runs.sources",
        "READ": "evenkey.runs.epochs",
        "Recorder": "evenkey.runs.recorder",
        "RowsReading": "evenkey.runs.sources",
        "RunDirectory": "evenkey.runs.directory",
        "SPLITS": "evenkey.runs.epoch_files",
        "Sink": "evenkey.runs.sinks",
        "Tallies": "evenkey.runs.tallies",
        "Timing": "evenkey.runs.timing",
        "Work": "evenkey.runs.job",
        "closing_rows": "evenkey.runs.closing",
        "committed_tables": "evenkey.runs.results",
        "epochs_of": "evenkey.runs.timing",
        "execute": "evenkey.runs.runner",
        "keep_reading": "evenkey.runs.recalling",
        "late_rows": "evenkey.runs.epochs",
        "local_copy": "evenkey.runs.local_copies",
        "output_store": "evenkey.runs.places",
        "overflowed_results": "evenkey.runs.epochs",
        "recall_reading": "evenkey.runs.recalling",
        "run": "evenkey.runs.runner",
        "run_info": "evenkey.runs.recorder",
        "span": "evenkey.runs.timing",
        "spelled": "evenkey.runs.sources",
        "stream_of": "evenkey.runs.sources",
        "tuples": "evenkey.runs.recalling",
        "variants": "evenkey.runs.runner",
        "EpochProgress": "evenkey.runs.progress",
        "OnProgress": "evenkey.runs.progress",
        "read_records": "evenkey.runs.epochs",
        "read_results": "evenkey.runs.results",
    },
)
