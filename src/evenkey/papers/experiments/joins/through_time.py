"""The sPS pipeline through time, with redistribution and without, for figures 6 and 7."""

from __future__ import annotations

from evenkey.papers.experiments import Experiment, Frame, Scale, series
from evenkey.papers.experiments.joins.join_run import JoinRun, join_run
from evenkey.reports.pictures import Axis, Chart, Grid, Plot

_MODES = ("dynamic-lb-stal", "static-stal")
SKEWS = (0.3, 0.4, 0.5, 0.6, 0.7)

STREAM = (
    "The streams are not those of figures 4 and 5: 60 % of the publications are polygons, anywhere "
    "on 64 partitions. So the throughput differs for equal settings."
)


def through_time(title: str, y: Axis, note: str = "", *, baseline: str | None = None) -> Chart:
    """Declare a plot with one panel per nominal skew; the panel's title has the realised skew."""
    seconds = Axis("seconds", "Stream time, s")
    return Chart(
        title, seconds, y, "mode", panels=Grid("panel", shared=True), baseline=baseline, note=note
    )


class ThroughTime(Experiment):
    """A figure that shows the epochs of runs; each of two modes is run at each skew."""

    def scenarios(self, scale: Scale) -> list[JoinRun]:
        return [join_run(scale, "sps", mode, skew) for skew in SKEWS for mode in _MODES]

    def labelled(self, frame: Frame) -> Frame:
        realised = frame.groupby("skew")["realised_skew"].transform("mean")
        pairs = zip(frame["skew"], realised, strict=True)
        return frame.assign(panel=[f"s = {s} ({r:.2f} realised)" for s, r in pairs])

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(series(frame)) for chart in self.charts]
