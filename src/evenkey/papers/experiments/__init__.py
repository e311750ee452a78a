"""Experiments: the tables and figures of the papers, simulated or run on Spark.

An experiment declares scenarios (such as a grouping on a stream) and makes tables and plots from
their results. Results are stored, one Parquet file per scenario.

>>> [each for each in available() if each.startswith("dkg")][:3]
['dkg-figure-9', 'dkg-figure-9-spark', 'dkg-figure-10']
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from evenkey.core.spelling import unknown_name
from evenkey.papers.experiments.base import NOT_GIVEN, Experiment, Frame, Way, order
from evenkey.papers.experiments.experiment_data import DISTRICTS, EPINIONS, Dataset, published
from evenkey.papers.experiments.key_share import KeyShare, TopKeys
from evenkey.papers.experiments.outcome import Outcome
from evenkey.papers.experiments.pipeline import PipelineRun
from evenkey.papers.experiments.report import write_index, write_page
from evenkey.papers.experiments.result_frames import of_kinds, series, spelled
from evenkey.papers.experiments.run_scenarios import Progress, run
from evenkey.papers.experiments.scale import FULL, QUICK, Scale, scale_named
from evenkey.papers.experiments.scenario import Measurement, Scenario
from evenkey.papers.experiments.several_streams import SeveralStreams
from evenkey.papers.experiments.simulation import Simulation
from evenkey.papers.experiments.timed import Timed, TimedRun, medians, of_steps

__all__ = [
    "DISTRICTS",
    "EPINIONS",
    "FULL",
    "NOT_GIVEN",
    "QUICK",
    "Dataset",
    "Experiment",
    "Frame",
    "KeyShare",
    "Measurement",
    "Outcome",
    "PipelineRun",
    "Progress",
    "Scale",
    "Scenario",
    "SeveralStreams",
    "Simulation",
    "Timed",
    "TimedRun",
    "TopKeys",
    "Way",
    "available",
    "find",
    "medians",
    "of_kinds",
    "of_steps",
    "published",
    "run",
    "scale_named",
    "series",
    "spelled",
    "write_index",
    "write_page",
]


def available() -> dict[str, Experiment]:
    """Return all experiments in the modules of this package, by id.

    The ids are sorted by `order`: figure 9 comes before figure 10.
    """
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(__path__, f"{__name__}.")
    ]
    declared = [
        thing
        for module in modules
        for thing in vars(module).values()
        if inspect.isclass(thing) and issubclass(thing, Experiment) and hasattr(thing, "id")
    ]
    found = [experiment(way) for experiment in declared for way in experiment.ways]
    found.sort(key=lambda experiment: order(experiment.id))
    return {experiment.id: experiment for experiment in found}


def find(experiment: str) -> Experiment:
    """Find an experiment by its id.

    Raises
    ------
    ConfigurationError
        There is no experiment with that id; the message lists all ids.
    """
    experiments = available()
    if experiment not in experiments:
        error = unknown_name("experiment", experiment, experiments)
        raise error
    return experiments[experiment]
