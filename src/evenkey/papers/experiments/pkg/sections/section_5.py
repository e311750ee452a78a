"""PKG, section 5: the examples and theorems of the analysis, as balls in bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, spelled
from evenkey.papers.experiments.pkg.draws import FEWEST
from evenkey.papers.experiments.pkg.sections.balls_in_bins import (
    ALTERNATING,
    RANDOM,
    Course,
    HotWorkers,
    Placement,
    TwoKeys,
)
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.papers.experiments.timed import MOST
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.pkg.draws import Drawn

_RULES = {PKG: "Less loaded", ALTERNATING: "In turn", RANDOM: "At random", "potc": "Static PoTC"}
_WORKERS = (10, 100, 1000)
_KEYS = 10_000
_LENGTHS = (1_000, 10_000, 100_000)
_FIVE = 5
_LONG, _SHORT = 2_000_000, 200_000


class Theorems(Experiment):
    id = "pkg-section-5"
    title = "The examples and theorems of the analysis, simulated"
    summary = (
        "One source places m messages of a stream on W workers, which are the paper's n bins. "
        "Figures are means over 10 draws (10,000 / W for as many keys as workers, 200 for two "
        "keys, 50 for hot workers); a draw has another stream and other hashes of the keys. At "
        "scale quick there are fewer and shorter draws. Each claim is tested where its conditions "
        "hold: the first table has p1 > 2 / W, the second has W equally frequent keys, the third "
        "5 W, so that p1 = 1 / (5 W). p1 is the probability of the key. In a draw its share "
        "can be slightly lower, and I(m) / m with it: 0.2092 beside 0.2094 in the first table."
    )
    charts = (
        Chart(
            "Imbalance of 5 W equally frequent keys",
            Axis("workers", "Workers, W", "log"),
            Axis("relative", "I(m) W / m"),
            "choices",
            "Choices, d",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Drawn]:
        draws = 10 if scale.whole else 2
        long, short = (scale.messages(each) for each in (_LONG, _SHORT))
        return [
            *(
                Placement(Dataset(f"zipf(z={z:g},keys={_KEYS})", short), draws, rule, workers)
                for z in (1.6, 2.0)
                for rule in _RULES
                for workers in (10, 50, 100)
            ),
            *(
                Placement(
                    Dataset(f"uniform(keys={workers})", of_worker * workers),
                    draws * _WORKERS[-1] // workers if scale.whole else draws,
                    PKG,
                    workers,
                )
                for workers in _WORKERS
                for of_worker in (200, 2_000)
            ),
            *(
                Placement(Dataset(f"uniform(keys={_FIVE * workers})", long), draws, rule, workers)
                for rule in map(_greedy, (1, 2, 4))
                for workers in _WORKERS
            ),
            *(
                TwoKeys(Dataset("uniform(keys=2)", messages), 20 * draws, PKG, 4)
                for messages in _LENGTHS
            ),
            *(
                Course(
                    Dataset(f"zipf(z=2,keys={_KEYS})", 20_000), max(1, draws // 3), rule, workers
                )
                for workers in (10, 50, 100)
                for rule in ("sg", _greedy(_plenty(workers)))
            ),
            *(
                HotWorkers(Dataset(f"uniform(keys={keys})", keys), 5 * draws, 1000, times)
                for keys in (1000, 5000)
                for times in (1.0, 2.0, 3.0)
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        each = frame["messages"] / frame["draws"]
        z, keys = (spelled(frame["dataset"], name) for name in ("z", "keys"))
        top = np.array([_share(*setting) for setting in zip(z, keys, strict=True)])
        bound = top / 2 - 1 / frame["workers"]
        part = frame["imbalance"] / each
        logs = np.log(frame["workers"]) / np.log(np.log(frame["workers"]))
        choices = spelled(frame["rule"].fillna(""), "choices").fillna(2).astype(int)
        relative = part * frame["workers"]
        return frame.assign(
            z=z,
            keys_declared=keys.astype(int),
            each=each,
            mean=each / frame["workers"],
            rule_name=frame["rule"].map(_RULES),
            choices=choices,
            bound=bound,
            part=part,
            relative=relative,
            over_bound=part / bound,
            over_theorem=relative / np.where(choices == 1, logs, 1),
            over_root=frame["imbalance"] / np.sqrt(each),
            most_course=frame[f"imbalance{MOST}"],
            most_difference=frame[f"difference{MOST}"],
            least_relative=frame[f"imbalance{FEWEST}"] / each * frame["workers"],
            most_relative=frame[f"imbalance{MOST}"] / each * frame["workers"],
            limit=frame["times"] ** -frame["times"],
            method=np.where(frame["rule"] == "sg", "SG", "PKG"),
        )

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_of_keys_per_worker(frame, _FIVE)) for chart in self.charts]

    def tables(self, frame: Frame) -> list[Table]:
        workers = Column("workers", "W", ",d")
        range_of = [
            Column("relative", "I(m) W / m", ".3f"),
            Column("least_relative", "Least", ".3f"),
            Column("most_relative", "Most", ".3f"),
        ]
        return [
            Table(
                "The most frequent key on two workers",
                [
                    Column("rule_name", "Rule"),
                    Column("z", "z", ".1f"),
                    workers,
                    Column("bound", "p1 / 2 - 1 / W", ".4f"),
                    Column("part", "I(m) / m", ".4f"),
                    Column("over_bound", "Over the bound", ".2f"),
                ],
                frame[(frame["kind"] == Placement.kind) & frame["z"].notna()],
                "In turn and at random, a key's messages go to its two candidates; static PoTC "
                "keeps a key where its first message went.",
            ),
            Table(
                "As many keys as workers",
                [
                    workers,
                    Column("mean", "m / W", ",d"),
                    Column("unused", "Workers unused, share", ".3f"),
                    *range_of,
                    Column("part", "I(m) / m", ".4f"),
                ],
                _of_keys_per_worker(frame, 1),
            ),
            Table(
                "Five keys for each worker",
                [
                    Column("choices", "d", "d"),
                    workers,
                    *range_of,
                    Column("over_theorem", "Over the theorem's", ".4f"),
                ],
                _of_keys_per_worker(frame, _FIVE),
                "The theorem's imbalance is m / W * ln W / ln ln W for d = 1, and m / W else.",
            ),
            Table(
                "Two keys on four workers",
                [
                    Column("each", "m", ",d"),
                    Column("imbalance", "I(m), messages", ".1f"),
                    Column("over_root", "I(m) / sqrt(m)", ".3f"),
                    Column("most_difference", "Most difference of a key's loads", "d"),
                ],
                frame[frame["kind"] == TwoKeys.kind],
                "Of all draws, those count in which the four candidates are different workers. "
                "The difference of the two loads of a key is taken after each message.",
            ),
            Table(
                "All workers as choices",
                [
                    Column("method", "Method"),
                    workers,
                    Column("rule", "Grouping"),
                    Column("most_course", "Most I(t), messages", ".2f"),
                ],
                frame[frame["kind"] == Course.kind],
                "A stream with z = 2. PKG has 10 W ln W choices.",
            ),
            Table(
                "Workers whose keys are hot",
                [
                    Column("keys_declared", "Keys", ",d"),
                    workers,
                    Column("times", "Times", "d"),
                    Column("hot", "Share of the workers", ".5f"),
                    Column("limit", "Bound", ".5f"),
                ],
                frame[frame["kind"] == HotWorkers.kind],
                "Workers whose keys have e / W times of all messages or more; keys are equally "
                "frequent. By lemma 5.4 the share is at most 1 / times^times.",
            ),
        ]


def _of_keys_per_worker(frame: Frame, number: int) -> Frame:
    """Return the placements of equally frequent keys, so many for each worker."""
    uniform = (frame["kind"] == Placement.kind) & frame["z"].isna()
    return frame[uniform & (frame["keys_declared"] == number * frame["workers"])]


def _greedy(choices: int) -> str:
    return f"pkg(choices={choices},variant=paper)"


def _plenty(workers: int) -> int:
    """Return far more choices than n ln n."""
    return math.ceil(10 * workers * math.log(workers))


def _share(z: float, keys: float) -> float:
    """Return the probability of the most frequent key."""
    return float(1 / np.sum(np.arange(1, keys + 1) ** -(0.0 if math.isnan(z) else z)))
