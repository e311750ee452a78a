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

__getattr__ = late(__name__)
