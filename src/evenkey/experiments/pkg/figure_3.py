"""PKG, figure 3: hot keys that change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.frames import series
from evenkey.experiments.key_share import TopKeys
from evenkey.experiments.pkg.streams import SECONDS, dataset
from evenkey.experiments.scale import FULL
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["CashtagDrift"]

_WEEKS = 4


class CashtagDrift(Experiment):
    """The most frequent cashtags, week by week."""

    id: ClassVar[str] = "pkg-figure-3"
    title: ClassVar[str] = "The five most frequent cashtags, week by week"
    reference: ClassVar[str] = "PKG, figure 3"
    summary: ClassVar[str] = (
        "How often the five cashtags that are the most frequent ones overall occur in each week "
        "of the stream that stands in for CT. It is short, and run whole at every scale."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """One count of the whole stream."""
        del scale
        return [TopKeys(dataset("CT", FULL, timed=True), SECONDS["CT"] / _WEEKS)]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Messages of each cashtag and week."""
        weeks = _weeks(frame)
        table = weeks.pivot_table("messages", "week", "key", sort=False).reset_index()
        keys = dict.fromkeys(weeks["key"])
        columns = [Column("week", "Week", "d"), *(Column(key, key, ",d") for key in keys)]
        return [Table("Messages a week", columns, table, NOT_GIVEN)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A line a cashtag."""
        figure = chart(
            _weeks(frame),
            x=Axis("week", "Week", "category"),
            y=Axis("messages", "Messages in the week"),
            group="key",
            legend="Cashtag",
        )
        return [Plot("Frequency of the five most frequent cashtags", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The hottest key changes."""
        weeks = _weeks(frame)
        hottest = weeks.loc[weeks.groupby("week")["messages"].idxmax(), "key"].tolist()
        return [
            Finding(
                "The most frequent keys change throughout time",
                f"the hottest of the weeks in turn: {', '.join(hottest)}",
                len(set(hottest)) > 1,
            )
        ]


def _weeks(frame: pd.DataFrame) -> pd.DataFrame:
    points = series(frame)
    return points.assign(week=points["period"] + 1)
