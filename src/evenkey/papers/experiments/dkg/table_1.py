"""DKG, table 1: thresholds, and the largest pools of workers."""

from __future__ import annotations

import math

from evenkey.groupings import DynamicKeyGrouping
from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, Simulation
from evenkey.reports.pictures import Axis, Chart, Column

_PAPER = {5: (24.47, 5), 10: (13.16, 8), 20: (7.24, 14), 50: (3.41, 30), 100: (2.00, 51)}
"""The paper's threshold in percent and largest pool, by the number of workers."""

_README = DynamicKeyGrouping(scale_in="minus-root")
_MESSAGES = 1_000_000
_SECONDS = 8000


class LargestPools(Experiment):
    id = "dkg-table-1"
    title = "Thresholds, and the largest pools of workers"
    summary = (
        "A stream with a single key, the worst case: DKG adds a worker to the key's pool while all "
        "workers in it are above the threshold, L + sqrt(L) with L = 100/W %. The pool is the "
        "workers that got messages. Until the key counts as hot, two workers get all messages; the "
        "stream is so long that these do not matter."
    )

    table = "Thresholds and pools"
    columns = (
        Column("workers", "Workers", "d"),
        Column("ideal", "Ideal load, %", ".2f"),
        Column("threshold", "Threshold, %, L + sqrt(L)", ".2f"),
        Column("paper_threshold", "Threshold, %, paper", ".2f"),
        Column("scale_in", "Scale-in threshold of the README, %, L - sqrt(L)", ".2f"),
        Column("pairs", "Largest pool, ours", "d"),
        Column("paper_pool", "Largest pool, paper", "d"),
    )
    note = ""
    charts = (
        Chart(
            "Largest pool of a key",
            Axis("workers", "Workers", "category"),
            Axis("pool", "Largest pool, workers"),
            kind="bars",
            beside={"ours": "pairs", "paper": "paper_pool"},
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        messages = scale.messages(_MESSAGES)
        stream = Dataset("uniform(keys=1)", messages, messages / _SECONDS)
        return [Simulation(stream, "dkg", workers, sources=1) for workers in _PAPER]

    def labelled(self, frame: Frame) -> Frame:
        ideal = 100 / frame["workers"]
        return frame.assign(
            ideal=ideal,
            threshold=ideal + ideal.map(math.sqrt),
            scale_in=[_README.thresholds(workers)[1] for workers in frame["workers"]],
            paper_threshold=[_PAPER[workers][0] for workers in frame["workers"]],
            paper_pool=[_PAPER[workers][1] for workers in frame["workers"]],
        )
