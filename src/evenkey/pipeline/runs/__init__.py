"""The life of a run: directory, epochs, driving, pausing, reporting; it knows no pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.doors import late

if TYPE_CHECKING:
    from evenkey.pipeline.runs.closing import closing_rows as closing_rows
    from evenkey.pipeline.runs.directory import RunDirectory as RunDirectory
    from evenkey.pipeline.runs.epoch_files import DEAD_LETTERS as DEAD_LETTERS
    from evenkey.pipeline.runs.epoch_files import SPLITS as SPLITS
    from evenkey.pipeline.runs.epoch_files import EpochFiles as EpochFiles
    from evenkey.pipeline.runs.epochs import READ as READ
    from evenkey.pipeline.runs.epochs import late_rows as late_rows
    from evenkey.pipeline.runs.epochs import overflowed_results as overflowed_results
    from evenkey.pipeline.runs.epochs import read_records as read_records
    from evenkey.pipeline.runs.job import Job as Job
    from evenkey.pipeline.runs.job import Outcome as Outcome
    from evenkey.pipeline.runs.job import Work as Work
    from evenkey.pipeline.runs.local_copies import local_copy as local_copy
    from evenkey.pipeline.runs.parts import Part as Part
    from evenkey.pipeline.runs.places import output_store as output_store
    from evenkey.pipeline.runs.progress import EpochProgress, OnProgress
    from evenkey.pipeline.runs.recalling import keep_reading as keep_reading
    from evenkey.pipeline.runs.recalling import recall_reading as recall_reading
    from evenkey.pipeline.runs.recalling import tuples as tuples
    from evenkey.pipeline.runs.recorder import Recorder as Recorder
    from evenkey.pipeline.runs.recorder import run_info as run_info
    from evenkey.pipeline.runs.results import committed_tables as committed_tables
    from evenkey.pipeline.runs.results import read_results
    from evenkey.pipeline.runs.runner import execute as execute
    from evenkey.pipeline.runs.runner import run as run
    from evenkey.pipeline.runs.runner import variants as variants
    from evenkey.pipeline.runs.sinks import ConsoleSink as ConsoleSink
    from evenkey.pipeline.runs.sinks import FileSink as FileSink
    from evenkey.pipeline.runs.sinks import MemorySink as MemorySink
    from evenkey.pipeline.runs.sinks import Sink as Sink
    from evenkey.pipeline.runs.sources import MESSAGES as MESSAGES
    from evenkey.pipeline.runs.sources import DealtReading as DealtReading
    from evenkey.pipeline.runs.sources import GeneratorReading as GeneratorReading
    from evenkey.pipeline.runs.sources import LinesReading as LinesReading
    from evenkey.pipeline.runs.sources import Reading as Reading
    from evenkey.pipeline.runs.sources import RowsReading as RowsReading
    from evenkey.pipeline.runs.sources import spelled as spelled
    from evenkey.pipeline.runs.sources import stream_of as stream_of
    from evenkey.pipeline.runs.tallies import Tallies as Tallies
    from evenkey.pipeline.runs.timing import Timing as Timing
    from evenkey.pipeline.runs.timing import epochs_of as epochs_of
    from evenkey.pipeline.runs.timing import span as span
    from evenkey.pipeline.runs.topic_sink import KafkaSink as KafkaSink

__all__ = ["EpochProgress", "OnProgress", "read_results"]

__getattr__ = late(
    __name__,
    {
        "ConsoleSink": "evenkey.pipeline.runs.sinks",
        "DEAD_LETTERS": "evenkey.pipeline.runs.epoch_files",
        "DealtReading": "evenkey.pipeline.runs.sources",
        "EpochFiles": "evenkey.pipeline.runs.epoch_files",
        "FileSink": "evenkey.pipeline.runs.sinks",
        "GeneratorReading": "evenkey.pipeline.runs.sources",
        "Job": "evenkey.pipeline.runs.job",
        "KafkaSink": "evenkey.pipeline.runs.topic_sink",
        "LinesReading": "evenkey.pipeline.runs.sources",
        "MESSAGES": "evenkey.pipeline.runs.sources",
        "MemorySink": "evenkey.pipeline.runs.sinks",
        "Outcome": "evenkey.pipeline.runs.job",
        "Part": "evenkey.pipeline.runs.parts",
        "Reading": "evenkey.pipeline.runs.sources",
        "READ": "evenkey.pipeline.runs.epochs",
        "Recorder": "evenkey.pipeline.runs.recorder",
        "RowsReading": "evenkey.pipeline.runs.sources",
        "RunDirectory": "evenkey.pipeline.runs.directory",
        "SPLITS": "evenkey.pipeline.runs.epoch_files",
        "Sink": "evenkey.pipeline.runs.sinks",
        "Tallies": "evenkey.pipeline.runs.tallies",
        "Timing": "evenkey.pipeline.runs.timing",
        "Work": "evenkey.pipeline.runs.job",
        "closing_rows": "evenkey.pipeline.runs.closing",
        "committed_tables": "evenkey.pipeline.runs.results",
        "epochs_of": "evenkey.pipeline.runs.timing",
        "execute": "evenkey.pipeline.runs.runner",
        "keep_reading": "evenkey.pipeline.runs.recalling",
        "late_rows": "evenkey.pipeline.runs.epochs",
        "local_copy": "evenkey.pipeline.runs.local_copies",
        "output_store": "evenkey.pipeline.runs.places",
        "overflowed_results": "evenkey.pipeline.runs.epochs",
        "recall_reading": "evenkey.pipeline.runs.recalling",
        "run": "evenkey.pipeline.runs.runner",
        "run_info": "evenkey.pipeline.runs.recorder",
        "span": "evenkey.pipeline.runs.timing",
        "spelled": "evenkey.pipeline.runs.sources",
        "stream_of": "evenkey.pipeline.runs.sources",
        "tuples": "evenkey.pipeline.runs.recalling",
        "variants": "evenkey.pipeline.runs.runner",
        "EpochProgress": "evenkey.pipeline.runs.progress",
        "OnProgress": "evenkey.pipeline.runs.progress",
        "read_records": "evenkey.pipeline.runs.epochs",
        "read_results": "evenkey.pipeline.runs.results",
    },
)
