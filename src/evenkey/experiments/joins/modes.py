"""The modes and pipelines against the skew, as figures 4 and 5 have them.

Polygons cluster here: where their share is the same everywhere, items are as good a measure of
load as seconds, and LB and DB do the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from evenkey.experiments.experiment import Experiment, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.joins.join_run import join_run
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["CLUSTERED", "MODES", "PIPELINES", "Measure", "ModesAgainstSkew", "mode_table", "paired"]

MODES = (
    "static-strl",
    "static-stal",
    "dynamic-db-strl",
    "dynamic-db-stal",
    "dynamic-lb-strl",
    "dynamic-lb-stal",
)
CLUSTERED = (
    "Publications are 30 % polygons, which fill regions of their own, on 128 partitions: where "
    "polygons are spread evenly, balancing items and balancing load come to the same."
)
_SKEWS = (0.3, 0.4, 0.5, 0.6, 0.7)
_QUICK_SKEWS = (0.3, 0.7)
# Hash partitions cannot be skewed further, the paper says.
_RIHPS_SKEWS = (0.3, 0.4)
PIPELINES = {"sps": "sPS", "spis": "sPIS", "rihps": "RIhPS", "risps": "RIsPS"}


class Measure(NamedTuple):
    """What is plotted: its name, its unit, and its columns as modelled and as measured."""

    name: str
    unit: str
    modelled: str
    measured: str


class ModesAgainstSkew(Experiment):
    """A figure of every mode and pipeline; all of them share their results."""

    measure: ClassVar[Measure]

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """The six modes of the four pipelines at each skew."""
        skews = _SKEWS if scale.most_messages is None else _QUICK_SKEWS
        return [
            join_run(scale, pipeline, mode, skew, clustered=True)
            for pipeline in PIPELINES
            for skew in (_RIHPS_SKEWS if pipeline == "rihps" else skews)
            for mode in MODES
        ]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """The modelled figure and the measured one: a panel a pipeline, a line a mode."""
        measure = self.measure
        told = frame.assign(pipeline=frame["pipeline"].map(PIPELINES))
        return [
            Plot(
                f"{how} {measure.name}",
                chart(
                    told,
                    x=Axis("realised_skew", "Skew coefficient, realised"),
                    y=Axis(column, measure.unit),
                    group="mode",
                    legend="Mode",
                    panels=Grid("pipeline"),
                ),
            )
            for how, column in (("Modelled", measure.modelled), ("Measured", measure.measured))
        ]


def mode_table(frame: pd.DataFrame, *columns: Column) -> Table:
    """A row a pipeline, nominal skew and mode."""
    named = frame.assign(pipeline=frame["pipeline"].map(PIPELINES))
    always = (
        Column("pipeline", "Pipeline"),
        Column("skew", "Skew, nominal s", ".1f"),
        Column("realised_skew", "realised", ".2f"),
        Column("mode", "Mode"),
    )
    return Table(
        "Modes against skew",
        [*always, *columns],
        named,
        "The paper draws this; its figures are not given as numbers.",
    )


def paired(frame: pd.DataFrame, figure: str, one: str, other: str) -> pd.Series[float]:
    """Give ratios of a figure: modes with `one` in their name over their twins with `other`.

    Parameters
    ----------
    figure
        Column of the frame.
    one, other
        Parts of modes' names, such as ``lb`` and ``db``.

    Returns
    -------
    pandas.Series
        A ratio for each pipeline, skew and pair of modes.
    """
    wide = frame.pivot_table(figure, ["pipeline", "skew"], "mode")
    pairs = [(mode, mode.replace(one, other)) for mode in wide.columns if one in mode.split("-")]
    ratios = {mode: wide[mode] / wide[twin] for mode, twin in pairs if twin in wide.columns}
    return type(frame)(ratios).stack()
