"""Joins, figure 7: MLDC through time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis
from evenkey.experiments.frames import series
from evenkey.experiments.joins.join_run import DEVIATIONS
from evenkey.experiments.joins.through_time import both_modes, through_time
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["DistanceThroughTime"]

_THRESHOLD = 0.5


class DistanceThroughTime(Experiment):
    """Maximum load distance coefficient of sPS epoch by epoch."""

    id: ClassVar[str] = "joins-figure-7"
    title: ClassVar[str] = "Maximum load distance coefficient (MLDC) of sPS through time"
    reference: ClassVar[str] = "Joins, figure 7"
    summary: ClassVar[str] = (
        "The epochs of one run; it shares its results with figure 6. MLDC of Dynamic LB STAL is of "
        "seconds of work, and so is that of Static STAL; partitions move when it is above 0.5, "
        "in the sum over the last 30 s. Part of a slot's work is overhead that skew does not "
        f"change, so MLDC begins lower than the share of items says. {DEVIATIONS}"
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Dynamic LB STAL and Static STAL at every skew."""
        return both_modes(scale)

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """MLDC at both ends, and what moved."""
        columns = [
            Column("skew", "Skew, nominal s", ".1f"),
            Column("realised_skew", "realised", ".2f"),
            Column("mode", "Mode"),
            Column("mldc_first", "MLDC, first epoch", ".2f"),
            Column("mldc_last", "last epoch", ".2f"),
            Column("redistributions", "Redistributions", ".0f"),
            Column("moved_partitions", "Moved partitions", ".0f"),
        ]
        note = (
            "A realised share s on 3 of 16 workers, evenly among the three, is an MLDC of "
            "16 s / 3 - 1 of items at first; of seconds it differs."
        )
        return [Table("MLDC", columns, frame, note)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """MLDC of each epoch."""
        figure = through_time(frame, Axis("mldc", "MLDC"))
        figure.add_hline(y=_THRESHOLD, line_dash="dash", line_color="grey")
        return [Plot("MLDC through time", figure, "Dashed: the threshold of redistribution.")]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """One redistribution is enough."""
        moving = frame[frame["mode"] == "dynamic-lb-stal"]
        static = frame[frame["mode"] == "static-stal"].sort_values("skew")
        epochs = series(moving)
        later = epochs[epochs["seconds"] > epochs["seconds"].max() / 2]["mldc"].max()
        return [
            Finding(
                "Dynamic LB STAL needs one redistribution, and stays under the threshold then",
                f"{moving['redistributions'].max():.0f} at most; MLDC is at most {later:.2f} in "
                "the second half",
                moving["redistributions"].max() <= 1 and later <= _THRESHOLD,
            ),
            Finding(
                "MLDC of Static STAL stays as it is, the higher the greater the skew",
                ", ".join(
                    f"{row.mldc_first:.2f} to {row.mldc_last:.2f} at s = {row.skew}"
                    for row in static.itertuples()
                ),
                static["mldc_last"].is_monotonic_increasing,
            ),
        ]
