"""Scenarios of joins without Spark: the skew of a stream, and the Distributor's decisions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import shapely

from evenkey.core.metrics import max_load_distance, max_over_mean
from evenkey.joins import DynamicDistributor, leaves_of
from evenkey.papers.experiments import SeveralStreams
from evenkey.papers.publish_subscribe.places import (
    CandidateOwners,
    PublicationMix,
    Publications,
    draw_subscriptions,
    skewed_workers,
    synthetic_atlas,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.joins import Leaves


WORKERS = 16
_PARTITIONS, _SUBSCRIPTIONS = 64, 10_000
_HOT = skewed_workers(WORKERS)
_EPOCHS, STREAM_SECONDS = 240, 120.0
LENGTH = STREAM_SECONDS / _EPOCHS
"""Length of an epoch, in seconds."""
WINDOW = round(DynamicDistributor.wait_periods * DynamicDistributor.period / LENGTH)
"""Number of epochs by whose load the Distributor decides."""
_SHIFT_SECONDS, _SHIFT = 20.0, 3

STATIC, LOAD, DATA = "static-stal", "dynamic-lb-stal", "dynamic-db-stal"


class _Mix(NamedTuple):
    polygons: float
    clustering: float
    partitions: int = _PARTITIONS
    polygon_load: float = 1.0


SPREAD, POINTS = "60 % polygons", "points"
CLUSTERED, HEAVY = "clustered polygons", "clustered polygons with 30 times the load"
_MIXES = {
    SPREAD: _Mix(0.6, 0.0),
    POINTS: _Mix(0.0, 0.0),
    CLUSTERED: _Mix(0.3, 1.0, 2 * _PARTITIONS),
    HEAVY: _Mix(0.3, 1.0, 2 * _PARTITIONS, 30.0),
}
"""Kinds of publications: those of figures 6 and 7, and the clustered ones of figures 4 and 5."""


@dataclass(frozen=True)
class SkewReached(SeveralStreams):
    """Draws publications, and measures the skew of the rows that they become.

    Parameters
    ----------
    pipeline
        ``sps``, ``rihps`` or ``risps``.
    skew
        Nominal skew.
    mix
        Kinds of the publications, by their name in `_MIXES`.
    """

    kind: ClassVar[str] = "skew-reached"

    pipeline: str
    skew: float
    mix: str = SPREAD

    def once(self) -> tuple[dict[str, float], None]:
        """Draw one stream."""
        seed, count = self.dataset.seed, self.dataset.messages or 0
        drawn = DrawnJoin.of(self.skew, self.mix, seed, count, self.pipeline)
        shapes = shapely.from_wkb(drawn.publications)
        if drawn.owners is not None:
            hot = np.arange(drawn.leaves.partitions) % WORKERS < _HOT
            every, of_hot = drawn.owners.rows(shapes, hot)
            return {"realised": float(of_hot.sum() / every.sum())}, None
        rows = np.bincount(drawn.leaves.touched(shapely.bounds(shapes))[1] % WORKERS)
        realised = float(rows[:_HOT].sum() / rows.sum())
        return {"realised": realised, "max_over_mean": max_over_mean(rows)}, None


class DrawnJoin(NamedTuple):
    """Both sides of a stream, in well-known binary, object[n]; the regions; owners of candidates.

    The owners are None in sPS, which sends a publication to the regions that it touches.
    """

    subscriptions: NDArray[np.object_]
    publications: NDArray[np.object_]
    leaves: Leaves
    owners: CandidateOwners | None

    @classmethod
    def of(cls, skew: float, name: str, seed: int, count: int, pipeline: str = "sps") -> DrawnJoin:
        """Draw the paper's number of subscriptions, and publications of a mix in `_MIXES`."""
        atlas, mix = synthetic_atlas(), _MIXES[name]
        subscriptions = draw_subscriptions(atlas, _SUBSCRIPTIONS, seed)
        static = subscriptions["geometry"].to_numpy()
        leaves, owners = leaves_of(static, "kdb", mix.partitions), None
        if pipeline != "sps":
            by_hash = pipeline == "rihps"
            owners = CandidateOwners.of(subscriptions, leaves, mix.partitions, by_hash=by_hash)
        drawn = PublicationMix(skew, mix.polygons, mix.clustering)
        made = Publications(atlas, leaves, WORKERS, drawn, seed, owners=owners)
        return cls(static, made.make(np.arange(count))["geometry"].to_numpy(), leaves, owners)

    def touched(
        self, geometries: NDArray[np.object_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of a geometry and a region that it touches, by their numbers."""
        return self.leaves.touched(shapely.bounds(shapely.from_wkb(geometries)))

    def by_epoch(
        self,
        number: NDArray[np.int64],
        partition: NDArray[np.int64],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Add up the rows of publications, by epoch and partition, float64[E, P]."""
        partitions = self.leaves.partitions
        cells = number * _EPOCHS // len(self.publications) * partitions + partition
        sums = np.bincount(cells, weights, _EPOCHS * partitions)
        return sums.reshape(_EPOCHS, -1).astype(np.float64)


class _Work(NamedTuple):
    """Rows and load of each partition in each epoch, float64[E, P]; its subscriptions, int64[P]."""

    rows: NDArray[np.float64]
    load: NDArray[np.float64]
    static: NDArray[np.int64]


@lru_cache(maxsize=4)
def _work(skew: float, name: str, seed: int, count: int) -> _Work:
    """Count the rows of an sPS stream, and add up their load."""
    drawn = DrawnJoin.of(skew, name, seed, count)
    pairs = drawn.touched(drawn.publications)
    polygons = shapely.get_dimensions(shapely.from_wkb(drawn.publications)) > 0
    load = np.where(polygons, _MIXES[name].polygon_load, 1.0)[pairs[0]]
    static = np.bincount(drawn.touched(drawn.subscriptions)[1], minlength=drawn.leaves.partitions)
    return _Work(drawn.by_epoch(*pairs), drawn.by_epoch(*pairs, load), static)


def moves_of(distributor: DynamicDistributor, load: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count how often each partition moves, given its load in each epoch; float64[P]."""
    placed = distributor.rehearse(load, WORKERS, epoch_seconds=LENGTH)
    moved = np.zeros(load.shape[1])
    for before, after in pairwise(placed):
        moved += np.array(before.owners) != np.array(after.owners)
    return moved


def mldc_by(
    distributor: DynamicDistributor, balanced: NDArray[np.float64], load: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Place partitions by what is balanced; return the MLDC of the load of the last 30 s.

    Parameters
    ----------
    distributor
        The Distributor.
    balanced, load
        What the Distributor balances, and the load that counts: of each partition in each epoch,
        float64[E, P].

    Returns
    -------
    ndarray
        The MLDC at the end of each epoch, float64[E].
    """
    placed = distributor.rehearse(balanced, WORKERS, epoch_seconds=LENGTH)
    pairs = zip(placed, _recent(load), strict=True)
    return np.array([max_load_distance(one.loads(part, WORKERS)) for one, part in pairs])


@dataclass(frozen=True)
class RehearsedJoin(SeveralStreams):
    """Plays the epochs of sPS: the Distributor places partitions by the load of earlier epochs.

    Parameters
    ----------
    skew
        Nominal skew.
    mode
        `STATIC`; `LOAD`, which balances load; or `DATA`, which balances rows.
    mix
        Kinds of the publications, by their name in `_MIXES`.
    wait_periods
        As for `evenkey.joins.DynamicDistributor`.
    shifting
        Whether other partitions become the skewed ones every 20 s.
    """

    kind: ClassVar[str] = "rehearsed-join"

    skew: float
    mode: str
    mix: str = SPREAD
    wait_periods: int = 3
    shifting: bool = False

    def once(self) -> tuple[dict[str, float], pa.Table]:
        """Play one stream; the series has one row per epoch."""
        work, count = self._work(), self.dataset.messages or 0
        rows, load = (self._shifted(each) if self.shifting else each for each in work[:2])
        placed = self._distributor().rehearse(
            rows if self.mode == DATA else load, WORKERS, epoch_seconds=LENGTH
        )
        recent = _recent(load)
        slots, window = (
            np.array([one.loads(part, WORKERS) for one, part in zip(placed, of, strict=True)])
            for of in (load, recent)
        )
        ends = LENGTH * np.arange(1, _EPOCHS + 1)
        moves = ends[:-1][[one != other for one, other in pairwise(placed)]]
        mldc = np.array([max_load_distance(each) for each in window])
        throughput = count / _EPOCHS / slots.max(axis=1)
        later = slots[WINDOW:].sum(axis=0)
        hot = rows[:, np.arange(rows.shape[1]) % WORKERS < _HOT].sum(axis=1)
        shares = hot / rows.sum(axis=1)
        figures = {
            "crossings_percent": crossings_percent(throughput),
            "mldc_first": float(mldc[0]),
            "mldc_later": float(np.median(mldc[WINDOW:])),
            "skew_later": float(later[:_HOT].sum() / later.sum()),
            "idle_percent": 100 * float(1 - slots[:, _HOT:].mean() / slots.max(axis=1).mean()),
            "redistributions": float(len(moves)),
            "share": float(hot.sum() / rows.sum()),
            "share_smallest": float(shares.min()),
            "share_largest": float(shares.max()),
        }
        above = ends[mldc > DynamicDistributor.threshold]
        if len(moves) and len(above):
            figures["reaction_seconds"] = float(moves[0] - above[0])
        if len(moves) > 1:
            figures["pause_seconds"] = float(np.diff(moves).min())
        return figures, pa.table({"seconds": ends, "throughput": throughput, "mldc": mldc})

    def _work(self) -> _Work:
        return _work(self.skew, self.mix, self.dataset.seed, self.dataset.messages or 0)

    def _distributor(self) -> DynamicDistributor:
        """Return the Distributor of the mode, without copies as in the paper."""
        return DynamicDistributor(
            threshold=float("inf") if self.mode == STATIC else DynamicDistributor.threshold,
            wait_periods=self.wait_periods,
            copies=False,
        )

    def _shifted(self, work: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move the work of all partitions to others every 20 s."""
        phases = (LENGTH * np.arange(_EPOCHS) // _SHIFT_SECONDS).astype(int)
        return np.array(
            [np.roll(epoch, _SHIFT * phase) for epoch, phase in zip(work, phases, strict=True)]
        )


@dataclass(frozen=True)
class RehearsedMoves(RehearsedJoin):
    """As `RehearsedJoin`, with the smallest fall of the MLDC by a move, and its oscillation."""

    kind: ClassVar[str] = "rehearsed-moves"

    def once(self) -> tuple[dict[str, float], pa.Table]:
        """Play one stream, and add figures of its moves."""
        (figures, table), work = super().once(), self._work()
        balanced = work.rows if self.mode == DATA else work.load
        placed = self._distributor().rehearse(balanced, WORKERS, epoch_seconds=LENGTH)
        falls = [
            max_load_distance(before.loads(window, WORKERS))
            - max_load_distance(after.loads(window, WORKERS))
            for window, (before, after) in zip(_recent(balanced), pairwise(placed), strict=False)
            if before != after
        ]
        later = table["mldc"].to_numpy()[WINDOW:]
        figures["mldc_crossings"] = float(_crossings(later - np.median(later)))
        if falls:
            figures["fall"] = min(falls)
        return figures, table


@dataclass(frozen=True)
class MovedPartitions(RehearsedJoin):
    """As `RehearsedJoin`, with the partitions that move, also without Algorithm 1's conditions.

    Parameters
    ----------
    check_seconds
        0: Algorithm 1 with its conditions. Above 0: partitions move whenever the MLDC is above the
        threshold at a check, and there is a check after this time, which is also the time whose
        load counts.
    """

    kind: ClassVar[str] = "moved-partitions"

    check_seconds: float = field(default=0.0, kw_only=True)

    def once(self) -> tuple[dict[str, float], pa.Table]:
        """Play one stream, and add figures of its moves."""
        (figures, table), work = super().once(), self._work()
        load = self._shifted(work.load) if self.shifting else work.load
        moved = moves_of(self._distributor(), load).sum()
        return {**figures, "moved": float(moved)}, table

    def _distributor(self) -> DynamicDistributor:
        """Return the Distributor of the mode, with or without the conditions."""
        if not self.check_seconds:
            return super()._distributor()
        return replace(
            super()._distributor(),
            min_items=0,
            wait_periods=1,
            period=self.check_seconds,
            min_improvement=0.0,
        )


@dataclass(frozen=True)
class PricedMoves(RehearsedJoin):
    """As `RehearsedJoin`, with a price of moves, and a parameter that differs from table 1.

    The time of a stream is the load of the most loaded worker in each epoch, and after a move the
    time of the worker that gets most subscriptions.

    Parameters
    ----------
    price
        Time that a worker takes for a subscription of a partition that it gets, in units of load.
    parameter, value
        Name and value of the parameter of `evenkey.joins.DynamicDistributor`.
    """

    kind: ClassVar[str] = "priced-moves"

    price: float = field(kw_only=True)
    parameter: str = field(kw_only=True)
    value: float = field(kw_only=True)

    def once(self) -> tuple[dict[str, float], pa.Table]:
        """Play one stream; add its time, over the time with the parameters of table 1."""
        figures, table = super().once()
        time, pauses = self._time(self._distributor())
        usual, _ = self._time(super()._distributor())
        return {**figures, "over_usual": time / usual, "paused_percent": 100 * pauses / time}, table

    def _distributor(self) -> DynamicDistributor:
        """Return the Distributor with the parameter."""
        kind = type(getattr(DynamicDistributor, self.parameter))
        return replace(super()._distributor(), **{self.parameter: kind(self.value)})

    def _time(self, distributor: DynamicDistributor) -> tuple[float, float]:
        """Return the time of the stream, and how much of it partitions take to move."""
        work, pauses = self._work(), 0.0
        placed = distributor.rehearse(work.load, WORKERS, epoch_seconds=LENGTH)
        for before, after in pairwise(placed):
            owners = np.array(after.owners)
            got = np.where(owners != np.array(before.owners), work.static, 0)
            pauses += self.price * float(np.bincount(owners, got, WORKERS).max())
        slots = [one.loads(part, WORKERS) for one, part in zip(placed, work.load, strict=True)]
        return float(np.max(slots, axis=1).sum()) + pauses, pauses


def _recent(load: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the load of each partition in the last 30 s at the end of each epoch."""
    return [load[max(0, end - WINDOW) : end].sum(axis=0) for end in range(1, _EPOCHS + 1)]


def crossings_percent(values: NDArray[np.float64]) -> float:
    """Return the percentage of steps between epochs in which values cross their mean."""
    return 100 * _crossings(values - values.mean()) / (len(values) - 1)


def _crossings(values: NDArray[np.float64]) -> int:
    """Count how often values go from one side of 0 to the other."""
    return int(np.count_nonzero(np.diff(values > 0)))
