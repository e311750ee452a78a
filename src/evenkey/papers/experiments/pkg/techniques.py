"""The techniques that the PKG paper compares, by the paper's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import NOT_GIVEN, Simulation
from evenkey.papers.experiments.pkg.paper_streams import STREAMS
from evenkey.reports.pictures import Axis, Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.papers.experiments.experiment_data import Dataset
    from evenkey.simulation import Feed, HashName


PKG = "pkg(variant=paper)"
"""Partial key grouping with two independent hashes, which may choose the same worker, as in the
paper and in Storm 0.10. In Storm 2 the second choice is another worker then."""

PROBING = "probing(seconds=60)"
"""The paper's P1: probing every minute."""

WORKERS = (5, 10, 50, 100)

BY_WORKERS = Axis("workers", "Workers, W", "category")
EXPONENT = Axis("z", "Zipf exponent, z")
IMBALANCE = Axis("average_imbalance_fraction", "Average imbalance, fraction of messages", "log")

BALANCED = 1e-3
"""A system counts as balanced if its average imbalance is below this fraction of the messages. The
paper's systems are either well below or well above this fraction."""


_HASH: HashName = "murmur3"


def pkg(
    dataset: Dataset,
    workers: int,
    *,
    estimation: str,
    sources: int = 5,
    grouping: str = PKG,
    feed: Feed = "shuffle",
    agreement: bool = False,
    samples: int = 0,
    replication: bool = False,
) -> Simulation:
    """Declare a simulation of partial key grouping, or another `grouping`, with the paper's hash.

    With global estimation there is one router, for any number of sources. Replication is counted
    only if `replication` is True: most of the paper's figures show only loads, and the paper's
    streams have millions of keys.
    """
    return Simulation(
        dataset,
        grouping,
        workers,
        sources=1 if estimation == "global" else sources,
        feed=feed,
        estimation=estimation,
        hash=_HASH,
        agreement=agreement,
        samples=samples,
        replication=replication,
    )


def hashing(dataset: Dataset, workers: int) -> Simulation:
    """Declare a simulation of key grouping, the baseline H.

    The number of sources does not matter.
    """
    return pkg(dataset, workers, estimation="local", sources=1, grouping="kg")


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's names of data set and technique to a frame of simulations.

    ``symbol`` is the symbol of the data set. ``technique`` is H for key grouping, G for global
    estimation, L5 for local estimation by 5 sources, and L5P1 if the 5 sources also probe every
    minute.
    """
    symbols = {stream: symbol for symbol, stream in STREAMS.items()}
    rows = zip(frame["grouping"], frame["estimation"], frame["sources"], strict=True)
    return frame.assign(
        symbol=frame["dataset"].map(symbols),
        technique=[_technique(*row) for row in rows],
    )


def imbalance_table(
    frame: pd.DataFrame, setting: Sequence[Column], across: str, label: str = "{}"
) -> Table:
    """Make the table of average imbalance: one row per setting, one column per `across` value."""
    figure = Column(IMBALANCE.column, label, ".1e")
    return Table.crossed("Fraction of average imbalance", frame, setting, across, figure, NOT_GIVEN)


def _technique(grouping: str, estimation: str, sources: int) -> str:
    if grouping == "kg":
        return "H"
    if estimation == "global":
        return "G"
    return f"L{sources}P1" if estimation == PROBING else f"L{sources}"
