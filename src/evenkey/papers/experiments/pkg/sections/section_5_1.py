"""PKG, section 5.1: lengths of streams, probabilities, and the ends of the scale of choices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, spelled
from evenkey.papers.experiments.pkg.sections.balls_in_bins import RANDOM, Placement
from evenkey.papers.experiments.pkg.sections.special_placements import (
    RARER,
    CandidatesOfAll,
    DistinctKeys,
    FirstKey,
    RareKeys,
    WithinBound,
)
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.reports.pictures import Column, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.pkg.draws import Drawn

_ONE = "pkg(choices=1,variant=paper)"
_RULES = {PKG: "PKG", _ONE: "PKG, one choice", "kg": "KG", "potc": "Static PoTC", RANDOM: "Random"}
_FIVE, _FIVE_ONE = "5 W equal keys", "5 W equal keys, one choice"
_DISTINCT, _RARE = "Distinct keys", f"One key of p1 = 1 / (5 W), others {RARER} times rarer"
_SHORT, _LONG = 2_000, 20_000
_ZIPF = {1.6: "Zipf, z = 1.6", 2.0: "Zipf, z = 2"}
_KEYS = 10_000


class LengthsAndChoices(Experiment):
    id = "pkg-section-5-1"
    title = "Longer streams, probabilities, and the ends of the scale of choices"
    summary = (
        "As PKG, section 5: one source places m messages on W workers, and a draw has another "
        "stream and other hashes of the keys. A long stream has ten times the messages of a short "
        "one. Figures are means over draws; at scale quick there are 2 of each."
    )
    set_up = (
        ("Stream", "Messages", "Draws"),
        ("5 W keys", "2,000 and 20,000 a worker", "10 with 10 workers, 1 with 100"),
        ("Zipf", "20,000 and 200,000 in all", "3"),
        ("Distinct keys", "2,000 and 20,000 a worker", "3"),
        ("As many keys as workers", "one a key", "500 with 10 workers, 50 with 100"),
        ("Two keys on four workers", "one a key", "1,500"),
        ("The theorem", "W^2 in all", "1,000 with 10 workers, 100 with 100"),
    )

    def scenarios(self, scale: Scale) -> list[Drawn]:
        def draws(number: int) -> int:
            return number if scale.whole else 2

        few = Dataset(f"zipf(z=1,keys={_KEYS})", 20_000)
        return [
            *(
                Placement(
                    Dataset(f"uniform(keys={5 * workers})", of_worker * workers),
                    draws(100 // workers),
                    rule,
                    workers,
                )
                for rule in (PKG, _ONE)
                for workers in (10, 100)
                for of_worker in (_SHORT, _LONG)
            ),
            *(
                RareKeys(
                    Dataset(f"uniform(keys={5 * workers})", _SHORT * workers),
                    draws(100 // workers),
                    PKG,
                    workers,
                )
                for workers in (10, 100)
            ),
            *(
                DistinctKeys(Dataset(f"uniform(keys={10 * each})", 10 * each), draws(3), rule, 10)
                for rule, each in ((PKG, _SHORT), (PKG, _LONG), ("potc", _SHORT))
            ),
            *(Placement(few, draws(3), rule, 10) for rule in ("kg", _ONE)),
            *(
                FirstKey(Dataset(f"zipf(z={z:g},keys={_KEYS})", messages), draws(3), rule, workers)
                for z in _ZIPF
                for rule in (PKG, RANDOM)
                for workers in (10, 100)
                for messages in (20_000, 200_000)
            ),
            *(
                CandidatesOfAll(Dataset(f"uniform(keys={keys})", keys), draws(number), workers)
                for keys, workers, number in ((10, 10, 500), (100, 100, 50), (2, 4, 1_500))
            ),
            *(
                WithinBound(
                    Dataset(f"uniform(keys={5 * workers})", workers**2),
                    draws(number),
                    rule,
                    workers,
                    bound,
                )
                for workers, number in ((10, 1_000), (100, 100))
                for rule, bound in (
                    (_ONE, math.log(workers) / math.log(math.log(workers))),
                    (PKG, 1.0),
                )
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        each = frame["messages"] / frame["draws"]
        z, keys = (spelled(frame["dataset"], name) for name in ("z", "keys"))
        longer = each > np.where(z.notna(), 100_000, 10_000 * frame["workers"])
        top = 1 / np.sum(np.arange(1, _KEYS + 1)[:, None] ** -z.fillna(0).to_numpy(), axis=0)
        of_kind = {RareKeys.kind: _RARE, DistinctKeys.kind: _DISTINCT, FirstKey.kind: ""}
        streams = [
            of_kind.get(kind, _FIVE_ONE if rule == _ONE else _FIVE) or _ZIPF[exponent]
            for kind, rule, exponent in zip(frame["kind"], frame["rule"], z, strict=True)
        ]
        return frame.assign(
            z=z,
            keys=keys,
            stream=streams,
            length=np.where(longer, "long", "short"),
            method=frame["rule"].map(_RULES),
            relative=frame["imbalance"] / each * frame["workers"],
            over_share=frame["together"] / top,
            over_half=2 * frame["larger"] / top,
            expected=1 - (1 - 1 / frame["workers"]) ** (2 * keys),
        )

    def tables(self, frame: Frame) -> list[Table]:
        workers, method = Column("workers", "W", "d"), Column("method", "Rule")
        imbalance = Column("imbalance", "I(m), messages", ",.1f")
        placed = frame[frame["kind"].isin([Placement.kind, RareKeys.kind, DistinctKeys.kind])]
        ends = placed["method"].isin(["KG", "Static PoTC"]) | (placed["dataset"] == _few())
        first = frame[frame["kind"] == FirstKey.kind]
        grown = frame.index.isin(placed.index[~ends]) | (
            (frame["kind"] == FirstKey.kind) & (frame["method"] == "PKG")
        )
        return [
            Table(
                "Growth with the length of the stream",
                [
                    Column("stream", "Stream"),
                    workers,
                    Column("length", "Length"),
                    imbalance,
                    Column("relative", "I(m) W / m", ".4f"),
                ],
                frame[grown],
            ),
            Table(
                "The ends of the scale of choices",
                [Column("stream_of_end", "Stream"), method, imbalance],
                _of_ends(placed),
                "10 workers, 20,000 messages.",
            ),
            Table(
                "The two candidates of the most frequent key",
                [
                    Column("stream", "Stream"),
                    method,
                    workers,
                    Column("length", "Length"),
                    Column("over_share", "Share of the two, over p1", ".3f"),
                    Column("over_half", "Larger share, over p1 / 2", ".3f"),
                ],
                first,
                "Random: the messages of a key go to its two candidates at random.",
            ),
            Table(
                "Candidates of all keys",
                [
                    Column("keys", "Keys", "d"),
                    workers,
                    Column("used", "Workers that are a candidate, share", ".3f"),
                    Column("expected", "By the formula", ".3f"),
                    Column("some_unused", "Draws with unused workers, share", ".3f"),
                    Column("all_differ", "Draws without a common worker, share", ".3f"),
                ],
                frame[frame["kind"] == CandidatesOfAll.kind],
            ),
            Table(
                "Draws within the theorem's bound",
                [
                    Column("method", "Rule"),
                    workers,
                    Column("bound", "Bound of I(m) W / m", ".2f"),
                    Column("within", "Draws within it, share", ".3f"),
                ],
                frame[frame["kind"] == WithinBound.kind],
                "The constant in the bound is 1.",
            ),
        ]


def _few() -> str:
    return f"zipf(z=1,keys={_KEYS})"


def _of_ends(placed: Frame) -> Frame:
    """Return the placements of distinct keys, and those by one choice, of the same length."""
    distinct = (placed["kind"] == DistinctKeys.kind) & (placed["length"] == "short")
    chosen = placed[distinct | (placed["dataset"] == _few())]
    names = np.where(chosen["kind"] == DistinctKeys.kind, _DISTINCT, "Zipf, z = 1")
    return chosen.assign(stream_of_end=names)
