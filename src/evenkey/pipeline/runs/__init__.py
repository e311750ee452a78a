"""Run any job: open its directory, run its query epoch by epoch, pause it, and report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names

if TYPE_CHECKING:
    from evenkey.pipeline.runs.driving.epochs import READ as READ
    from evenkey.pipeline.runs.driving.job import Found as Found
    from evenkey.pipeline.runs.driving.job import Job as Job
    from evenkey.pipeline.runs.driving.job import Outcome as Outcome
    from evenkey.pipeline.runs.driving.job import Prepared as Prepared
    from evenkey.pipeline.runs.driving.job import Work as Work
    from evenkey.pipeline.runs.driving.outputs import variants as variants
    from evenkey.pipeline.runs.driving.progress import EpochProgress, OnProgress
    from evenkey.pipeline.runs.driving.run_recorder import Recorder as Recorder
    from evenkey.pipeline.runs.driving.run_times import Timing as Timing
    from evenkey.pipeline.runs.driving.run_times import epochs_of as epochs_of
    from evenkey.pipeline.runs.driving.runner import run as run
    from evenkey.pipeline.runs.input.closing import closing_rows as closing_rows
    from evenkey.pipeline.runs.input.sources import DealtReading as DealtReading
    from evenkey.pipeline.runs.input.sources import Reading as Reading
    from evenkey.pipeline.runs.input.sources import stream_of as stream_of
    from evenkey.pipeline.runs.output.directory import RunDirectory as RunDirectory
    from evenkey.pipeline.runs.output.epoch_files import EpochFiles as EpochFiles
    from evenkey.pipeline.runs.output.output_location import output_store as output_store
    from evenkey.pipeline.runs.output.parts import Part as Part
    from evenkey.pipeline.runs.output.recalling import keep_reading as keep_reading
    from evenkey.pipeline.runs.output.recalling import recall_reading as recall_reading
    from evenkey.pipeline.runs.output.recalling import tuples as tuples
    from evenkey.pipeline.runs.output.results import committed_tables as committed_tables
    from evenkey.pipeline.runs.output.results import read_results
    from evenkey.pipeline.runs.output.sinks import FileSink as FileSink
    from evenkey.pipeline.runs.output.sinks import Sink as Sink
    from evenkey.pipeline.runs.output.tallies import Tallies as Tallies
    from evenkey.pipeline.runs.output.topic_sink import passed_on as passed_on

__all__ = ["EpochProgress", "OnProgress", "read_results"]

__getattr__ = lazy_names(__name__)
