"""PKG, section 5.2: the lemmas, with hashes of the library and keys of equal probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, spelled
from evenkey.papers.experiments.pkg.sections.balls_in_bins import HotWorkers
from evenkey.papers.experiments.pkg.sections.sets_of_workers import (
    LoadedFifth,
    SetOfWorkers,
    SmallSets,
)
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.papers.experiments.timed import MOST
from evenkey.reports.pictures import Column, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.pkg.draws import Drawn

_TRIALS = 1_000
_FEW_TRIALS = 100
_TWENTY, _HUNDRED = 20, 100


class Lemmas(Experiment):
    id = "pkg-section-5-2"
    title = "The lemmas of the proof, simulated"
    summary = (
        "Keys have equal probabilities and other hashes in each trial or draw. Lemma 5.4: as many "
        "keys as workers, so that p1 = 1 / W; the rest: 5 W keys. A set B has the first workers. "
        "1,000 trials for one set, 100 for all sets of at most 4 of 20 workers, 10 and 3 draws "
        "of 2,000 W messages for 20 and 100 workers, 50 draws for hot workers."
    )

    def scenarios(self, scale: Scale) -> list[Drawn]:
        trials = _TRIALS if scale.whole else _FEW_TRIALS
        return [
            *(
                SetOfWorkers(_uniform(_HUNDRED), 1, _HUNDRED, 1, size, limit, trials)
                for size in (1, 2, 10, 20)
                for limit in (math.e * times * size / _HUNDRED for times in (2, 3))
            ),
            *(
                SetOfWorkers(_uniform(5 * _TWENTY), 1, _TWENTY, 2, size, size / _TWENTY, trials)
                for size in (1, 2, 3, 4)
            ),
            SmallSets(_uniform(5 * _TWENTY), 1, _TWENTY, _FEW_TRIALS if scale.whole else 5),
            *(
                LoadedFifth(
                    Dataset(f"uniform(keys={5 * workers})", 2_000 * workers),
                    draws if scale.whole else 2,
                    PKG,
                    workers,
                )
                for workers, draws in ((_TWENTY, 10), (_HUNDRED, 3))
            ),
            *(
                HotWorkers(_uniform(5 * workers), 50 if scale.whole else 5, workers, 3.0)
                for workers in (_HUNDRED, 1_000)
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        part = frame["size"] / frame["workers"]
        times = frame["limit"] / part / math.e
        by_first = times ** -(times * frame["size"])
        by_both = (math.e * part) ** (5 * frame["size"])
        return frame.assign(
            keys=spelled(frame["dataset"], "keys"),
            formula=part ** frame["choices"],
            over_formula=frame["inside"] / part ** frame["choices"],
            times=frame["times"].fillna(times),
            over_part=frame["limit"] / part,
            tail=by_first.where(frame["choices"] == 1, by_both),
            hot_most=frame[f"hot{MOST}"],
        )

    def tables(self, frame: Frame) -> list[Table]:
        workers, keys = Column("workers", "W", ",d"), Column("keys", "Keys", ",d")
        return [
            Table(
                "Keys whose candidates lie in a set B",
                [
                    Column("choices", "Candidates", "d"),
                    workers,
                    Column("size", "Workers of B", "d"),
                    Column("inside", "Share of the keys, mean", ".5f"),
                    Column("formula", "By the formula", ".5f"),
                    Column("over_formula", "Mean over the formula", ".3f"),
                    Column("over_part", "A share that is rare, over that of the workers", ".2f"),
                    Column("reached", "Trials with it, share", ".5f"),
                    Column("tail", "Bound of that share", ".2e"),
                    Column("over_tail", "Trials over the bound", ".3f"),
                ],
                _over_tail(frame[frame["kind"] == SetOfWorkers.kind]),
                "A share that is rare: e times 2 or 3 that of the workers with one candidate "
                "(lemma 5.4), that of the workers with two (lemma 5.5).",
            ),
            Table(
                "All sets of at most a fifth of the workers",
                [
                    keys,
                    workers,
                    Column("largest", "Keys inside over workers, shares, most", ".3f"),
                    Column("within", "Trials with at most 1, share", ".3f"),
                    Column("expansion", "Workers per key inside, least", ".3f"),
                ],
                frame[frame["kind"] == SmallSets.kind],
                "Keys inside have both candidates in the set. Of the worst set in each trial.",
            ),
            Table(
                "The fifth of the workers with most first candidates",
                [
                    keys,
                    workers,
                    Column("inside", "Largest load in it, over the mean", ".3f"),
                    Column("outside", "Largest load outside", ".3f"),
                    Column("apart", "Difference", ".3f"),
                ],
                frame[frame["kind"] == LoadedFifth.kind],
            ),
            Table(
                "Workers whose first candidates are hot",
                [
                    keys,
                    workers,
                    Column("hot", "Share of the workers, mean", ".5f"),
                    Column("hot_most", "Most of all draws", ".5f"),
                ],
                frame[frame["kind"] == HotWorkers.kind],
                "Workers whose keys have 3 e / W of all messages or more, the set A of the proof.",
            ),
        ]


def _uniform(keys: int) -> Dataset:
    return Dataset(f"uniform(keys={keys})", keys)


def _over_tail(frame: Frame) -> Frame:
    return frame.assign(over_tail=frame["reached"] / frame["tail"])
