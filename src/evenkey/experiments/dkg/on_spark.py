"""The DKG paper's methods, and planned grouping, run by the pipeline on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import dataset, observed_by
from evenkey.experiments.dkg.metrics import MEASURED, metrics_table, plot_each
from evenkey.experiments.experiment import Experiment
from evenkey.experiments.pipeline import PipelineRun
from evenkey.experiments.table import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from evenkey.experiments.experiment import Plot
    from evenkey.experiments.figures import Axis
    from evenkey.experiments.scale import Scale
    from evenkey.experiments.table import Table

__all__ = ["PAPERS_METHODS", "SPARK_NOTE", "OnSpark", "every_run", "percent_more"]

PAPERS_METHODS = ["SG", "KG", "PKG", "DKG"]

SPARK_NOTE = (
    "Run by the pipeline on Spark from the generator. Each worker sleeps for 1 ms a message, so "
    "that all of them work side by side on any number of cores; 2 aggregators. Latency is the "
    "paper's, the time that all messages take, from the start of the first epoch to the last "
    "commit; about a second of each epoch is Spark's own. Streams are cut short at scale quick, "
    "so compare methods rather than digits. Planned grouping is not the paper's."
)

_GROUPINGS = ("sg", "kg", "pkg", "dkg", "planned")
_COST_MS = 1.0
_AGGREGATORS = 2
_FROM_FILE = {"wikipedia-pageviews"}
"""Its law has 20 million keys."""
_QUICK = 0.04
_QUICK_EPOCHS, _EPOCHS = 4, 50


def every_run(
    name: str, scale: Scale, *, workers: int = 10, sources: int = 5
) -> Iterator[PipelineRun]:
    """Run each method on a data set of the paper, named as the paper does."""
    stream = dataset(name, scale, quick=_QUICK)
    for grouping in _GROUPINGS:
        yield PipelineRun(
            stream,
            grouping,
            workers,
            sources,
            cost_ms=_COST_MS,
            epochs=_EPOCHS if scale.whole else _QUICK_EPOCHS,
            aggregators=_AGGREGATORS,
            from_file=name in _FROM_FILE,
            repeats=scale.repeats,
            observe_by=observed_by(stream),
        )


def percent_more(ours: float, others: float) -> str:
    """Write how much larger a figure is than another.

    Examples
    --------
    >>> percent_more(150, 100), percent_more(90, 100)
    ('+50 %', '-10 %')
    """
    return f"{100 * (ours / others - 1):+.0f} %"


class OnSpark(Experiment):
    """An experiment that varies one setting: a table of the metrics, and a plot of each."""

    setting: ClassVar[Axis]
    """What varies."""

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a setting and method."""
        form = "" if self.setting.column == "data" else "d"
        setting = Column(self.setting.column, self.setting.title, form)
        return [metrics_table(frame, setting, metrics=MEASURED)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A plot a metric, a line a method."""
        return plot_each(frame, self.setting, MEASURED)
