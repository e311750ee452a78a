"""Compare the DKG paper's methods while one setting varies, for figures 9 to 13."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.papers.experiments import Experiment, Frame, Scale, Scenario, Way
from evenkey.papers.experiments.dkg.methods import named
from evenkey.papers.experiments.dkg.metrics import metrics_table, plot_each
from evenkey.papers.experiments.dkg.ways import ON_SPARK, SIMULATION, MethodsWay, Setting
from evenkey.reports.pictures import Axis, Column, Plot, Table

if TYPE_CHECKING:
    from collections.abc import Sequence


class Comparison(Experiment):
    """A figure of the paper's metrics; declared once, it is simulated and also run on Spark."""

    ways: ClassVar[Sequence[Way]] = (SIMULATION, ON_SPARK)
    way: MethodsWay
    varied: Axis
    """The setting that varies."""
    settings: Sequence[Setting]
    """The settings in which the methods are compared."""
    only_on_spark = ""
    """Text that is added to the summary of the runs on Spark."""

    def __init__(self, way: Way | None = None) -> None:
        super().__init__(way)
        if self.on_spark:
            self.summary = f"{self.summary} {self.only_on_spark}".rstrip()

    @property
    def on_spark(self) -> bool:
        """Whether the experiment runs on Spark; otherwise it is simulated."""
        return self.way is ON_SPARK

    def scenarios(self, scale: Scale) -> list[Scenario]:
        return [each for setting in self.settings for each in self.way.measured(setting, scale)]

    def labelled(self, frame: Frame) -> Frame:
        return named(frame).assign(spouts=frame[self.way.spouts])

    def tables(self, frame: Frame) -> list[Table]:
        form = "" if self.varied.column == "data" else "d"
        setting = Column(self.varied.column, self.varied.title, form)
        return [metrics_table(frame, setting, self.way.metrics)]

    def plots(self, frame: Frame) -> list[Plot]:
        return plot_each(frame, self.varied, self.way.metrics)


class Skewness(Comparison):
    """A figure of the methods on the eleven country streams, with 5 spouts and 10 workers."""

    varied = Axis("skewness", "Skewness ratio, %")
    settings = tuple(Setting(f"country-skew-r{percent}") for percent in range(0, 101, 10))
