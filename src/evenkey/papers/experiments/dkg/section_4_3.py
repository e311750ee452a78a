"""DKG, section 4.3: DKG without a part of its rules, against the skewness."""

from __future__ import annotations

from evenkey.papers.experiments import Experiment, Frame, Scale, Simulation
from evenkey.papers.experiments.dkg.methods import (
    NO_KEY_SPACE,
    SPLITTERS,
    SPOUTS,
    dataset,
    named,
)
from evenkey.reports.pictures import Axis, Chart, Column

_RULES = {
    "dkg": "DKG",
    "dkg(largest_pool=10)": "no limit of machines",
    "dkg(scale_out=10)": "no threshold",
    NO_KEY_SPACE: "no key space",
}
_PERCENTS = (30, 50, 80, 90, 100)


class PartsOfTheRules(Experiment):
    id = "dkg-section-4-3"
    title = "DKG without a part of its rules"
    summary = (
        "Country streams, 5 spouts, 10 splitters, 10 workers. “No limit of machines”: the pool of "
        "a key can have all 10 workers, in place of 8. “No threshold”: a key gets a further worker "
        "as soon as its workers have more than the mean load. “No key space”: every key that has "
        "occurred for a second can have more than two workers, so that the load of the workers "
        "alone decides."
    )

    table = "DKG with and without parts of its rules"
    columns = (
        Column("skewness", "Skewness ratio, %", "d"),
        Column("rule", "Rules"),
        Column("stddev_percent", "StdDev of loads, % of their sum", ".3f"),
        Column("dist_cost", "DistCost, workers a key", ".3f"),
        Column("max_over_mean", "Maximum load, over the mean", ".3f"),
    )
    note = ""
    charts = tuple(
        Chart(title, Axis("skewness", "Skewness ratio, %"), Axis(name, title), "rule")
        for name, title in (
            ("dist_cost", "DistCost, workers a key"),
            ("stddev_percent", "StdDev of loads, % of their sum"),
        )
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        return [
            Simulation(
                dataset(f"country-skew-r{percent}", scale),
                rule,
                10,
                SPLITTERS,
                SPOUTS,
                hash="murmur3",
            )
            for percent in _PERCENTS
            for rule in _RULES
        ]

    def labelled(self, frame: Frame) -> Frame:
        return named(frame).assign(rule=frame["grouping"].map(_RULES))
