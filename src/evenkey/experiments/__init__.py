"""Experiments: the tables and figures of the papers, simulated or run on Spark.

An experiment declares scenarios, each a stream, a grouping and what else is to be measured, and
makes tables and plots of their results. Results are kept, a Parquet file a scenario.

>>> [each for each in available() if each.startswith("dkg")][:3]
['dkg-figure-9', 'dkg-figure-9-spark', 'dkg-figure-10']
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from evenkey.experiments.experiment import Experiment, Finding, Plot, order
from evenkey.experiments.outcome import Outcome
from evenkey.experiments.pages import check_packages
from evenkey.experiments.report import write_index, write_page
from evenkey.experiments.runner import Progress, run
from evenkey.experiments.scale import FULL, QUICK, Scale, scale_named
from evenkey.experiments.scenario import Measurement, Scenario
from evenkey.experiments.table import Column, Table
from evenkey.experiments.timed import Timed, TimedRun
from evenkey.spelling import unknown_name

__all__ = [
    "FULL",
    "QUICK",
    "Column",
    "Experiment",
    "Finding",
    "Measurement",
    "Outcome",
    "Plot",
    "Progress",
    "Scale",
    "Scenario",
    "Table",
    "Timed",
    "TimedRun",
    "available",
    "check_packages",
    "find",
    "run",
    "scale_named",
    "write_index",
    "write_page",
]


def available() -> dict[str, Experiment]:
    """Every experiment of the package by its id, found by walking the modules.

    Figure 9 comes before figure 10.
    """
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(__path__, f"{__name__}.")
    ]
    found = {
        thing.id: thing()
        for module in modules
        for thing in vars(module).values()
        if inspect.isclass(thing)
        and issubclass(thing, Experiment)
        and not inspect.isabstract(thing)
    }
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def find(experiment: str) -> Experiment:
    """Find an experiment by its id.

    Raises
    ------
    ConfigurationError
        There is none of that id; the message lists those that there are.
    """
    experiments = available()
    if experiment not in experiments:
        error = unknown_name("experiment", experiment, experiments)
        raise error
    return experiments[experiment]
