"""The report of a join pipeline."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.metrics import Balance, JoinFigures, Pace, Paced, known, max_load_distance
from evenkey.papers.publish_subscribe.join_seen import JoinSeen, LoadMeasure
from evenkey.papers.publish_subscribe.places import skewed_workers
from evenkey.pipeline.exporters import ExportSummary
from evenkey.pipeline.runs import Timing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.joins import EpochLog

# The threshold is left out, because it is an option and the same in all epochs.
_REPORTED = [
    *(each for each in Balance.declared() if not each.of_epoch),
    *(each for each in JoinFigures.declared() if each.name != "mldc_threshold"),
]
_ARRAYS = ("items", "seconds", "slot_seconds", "first_items")


@dataclass(frozen=True)
class JoinEpoch:
    """The figures of one epoch of a join.

    Parameters
    ----------
    epoch
        Number of the epoch.
    items, seconds
        Load of each slot in items (rows that publications become) and in seconds, float64[W].
    slot_seconds
        Computing time of each slot, including the time to load static data; float64[W].
    moved
        Partitions that moved before the epoch.
    redistribution_seconds
        Time of the move: the time of the decision, plus the time to load moved partitions in the
        slot that took longest.
    moved_load_seconds
        Time to load moved partitions, added up over all slots, as if one core loaded them.
    static_loads
        Number of static partitions that were loaded.
    pairs
        Number of rows that the join returned.
    first_items
        Number of items of the partitions that each slot had initially, even if other slots have
        these partitions now; float64[W].
    messages
        Number of items of the stream that reached the join, each counted once. 0 if the record
        comes from a version that did not count these items.
    owners
        Slot of each partition in the epoch. Empty if the record comes from a version that did not
        store it.
    """

    epoch: int
    items: NDArray[np.float64]
    seconds: NDArray[np.float64]
    slot_seconds: NDArray[np.float64]
    moved: tuple[int, ...]
    redistribution_seconds: float
    moved_load_seconds: float
    static_loads: int
    pairs: int
    first_items: NDArray[np.float64]
    messages: int = 0
    owners: tuple[int, ...] = ()

    def seen(self, measure: LoadMeasure, threshold: float = float("nan")) -> JoinSeen:
        """Return the observations from which the figures of the epoch are computed.

        Parameters
        ----------
        measure
            The measure of load that the mode uses.
        threshold
            MLDC above which partitions move.
        """
        return JoinSeen(
            self.messages,
            self.items,
            self.seconds,
            measure,
            threshold,
            self.pairs,
            len(self.moved),
            self.static_loads,
            self.redistribution_seconds,
            self.owners,
        )

    def max_load_distance(self, measure: LoadMeasure) -> float:
        """Compute the MLDC of the epoch, by items or by seconds."""
        return max_load_distance(measure.of(self))


def epochs_of(
    log: EpochLog, partitions: int, workers: int, *, only: int | None = None
) -> list[JoinEpoch]:
    """Read the epochs of a query from its log: all epochs, or only the epoch `only`."""
    numbers = log.epochs() if only is None else [only]
    epochs = (_epoch(log, number, partitions, workers) for number in numbers)
    return [each for each in epochs if each is not None]


def _restored_epoch(plain: Mapping[str, Any]) -> JoinEpoch:
    arrays = {name: np.array(plain[name]) for name in _ARRAYS}
    numbers = {name: tuple(plain.get(name, ())) for name in ("moved", "owners")}
    return JoinEpoch(**{**plain, **arrays, **numbers})


def _epoch(log: EpochLog, number: int, partitions: int, workers: int) -> JoinEpoch | None:
    plan, records = log.plan(number), log.records(number)
    if plan is None:
        return None
    work, at_first = log.work(records, partitions), np.arange(partitions) % workers
    moved = set(plan.moved)
    came, spent, busy = np.zeros(workers), np.zeros(workers), np.zeros(workers)
    loading = [0.0]
    for record in records:
        came[record.slot] = sum(each[0] for each in record.work.values())
        spent[record.slot] = sum(each[1] for each in record.work.values())
        busy[record.slot] = record.seconds
        loading.append(sum(s for number, s in record.loaded.items() if number in moved))
    return JoinEpoch(
        plan.epoch,
        came,
        spent,
        busy,
        plan.moved,
        plan.planning_seconds + max(loading) if moved else 0.0,
        sum(loading),
        sum(len(record.loaded) for record in records),
        sum(each[2] for record in records for each in record.work.values()),
        np.bincount(at_first, weights=work.items, minlength=workers).astype(np.float64),
        work.total,
        plan.owners,
    )


@dataclass(frozen=True)
class JoinReport:
    """The figures of a join run; `to_json` returns them under the names of the command line.

    Parameters
    ----------
    pipeline, mode
        Names of the pipeline and of its mode.
    measure
        Measure of load whose MLDC is reported.
    publications
        Number of publications.
    skew
        The nominal skew. None: the run did not generate its publications.
    pairs_digest
        Digest of all (publication, subscription) pairs in the results.
    epochs
        The epochs, in order.
    timing
        Times of the whole run, including epochs before a restart.
    epoch_ms
        Duration in ms of each epoch that this process ran, by the number of the epoch.
    rejected
        Number of publications and subscriptions in dead letters.
    publication_latency_ms
        Mean, median and 99th percentile of the time from a publication's arrival to the commit of
        its matches (``mean``, ``p50``, ``p99``). None: publications do not arrive at a rate, or an
        earlier process began the run.
    expected_digest
        Digest of the pairs that a join in one process finds. None: the run was not verified.
    finished_before
        Whether an earlier process had already finished the run, so that this process ran nothing.
    exports
        A summary of each exporter.

    Examples
    --------
    >>> from evenkey.papers.publish_subscribe import JoinConfig, run_join
    >>> config = JoinConfig(pipeline="spis", publications=500, subscriptions=50, workers=2)
    >>> report = run_join(config)  # doctest: +SKIP
    >>> report.finished, report.publications  # doctest: +SKIP
    (True, 500)

    Balance of each epoch and of the run, and the stored record:

    >>> len(report.mldc) == len(report.epochs)  # doctest: +SKIP
    True
    >>> 0 < report.realised_skew <= 1  # doctest: +SKIP
    True
    >>> report.pace.messages_per_second > 0  # doctest: +SKIP
    True
    >>> report.modelled_makespan_seconds > 0  # doctest: +SKIP
    True
    >>> again = JoinReport.restored(report.exported(()).to_record(), "out")  # doctest: +SKIP
    >>> again.to_json()["matches"] == report.matches  # doctest: +SKIP
    True
    """

    pipeline: str
    mode: str
    workers: int
    partitions: int
    measure: LoadMeasure
    publications: int
    subscriptions: int
    matches: int
    matched_publications: int
    pairs_digest: str
    epochs: Sequence[JoinEpoch]
    timing: Timing
    epoch_ms: Mapping[int, float]
    rejected: int
    finished: bool
    results: Path | str | None
    publication_latency_ms: Mapping[str, float | None] | None = None
    expected_digest: str | None = None
    skew: float | None = None
    finished_before: bool = False
    exports: tuple[ExportSummary, ...] = ()

    def exported(self, exports: tuple[ExportSummary, ...]) -> Self:
        """Return the same report with the summaries of the exporters."""
        return replace(self, exports=exports)

    def to_record(self) -> dict[str, Any]:
        """Convert the report to values that JSON can represent; `restored` converts them back."""
        plain = asdict(self)
        for epoch in plain["epochs"]:
            epoch |= {name: epoch[name].tolist() for name in _ARRAYS}
        return {**plain, "results": None if self.results is None else str(self.results)}

    @classmethod
    def restored(cls, record: Mapping[str, Any], results: Path | str) -> JoinReport:
        """Restore the report of a run that was already finished.

        Parameters
        ----------
        record
            Record that `to_record` returned.
        results
            The current path of the results.
        """
        nested = {
            "measure": LoadMeasure(record["measure"]),
            "epochs": tuple(map(_restored_epoch, record["epochs"])),
            "timing": Timing(record["timing"]["makespan_ms"], tuple(record["timing"]["epoch_ms"])),
            "epoch_ms": {int(number): each for number, each in record["epoch_ms"].items()},
            "results": results if record["results"] else None,
            "exports": tuple(ExportSummary(**each) for each in record["exports"]),
            "finished_before": True,
        }
        return cls(**{**record, **nested})

    @property
    def mldc(self) -> list[float]:
        """The maximum load distance coefficient of each epoch, by the mode's measure of load."""
        return [each.max_load_distance(self.measure) for each in self.epochs]

    @property
    def pace(self) -> Pace:
        """Throughput and durations of the whole run."""
        timing = self.timing
        return Pace.of(Paced(self.publications, timing.makespan_ms, timing.epoch_ms))

    @property
    def realised_skew(self) -> float:
        """Share of all items that belong to partitions which the skewed workers had initially.

        This share may differ from the nominal skew, with which publications are drawn. The share is
        0 if there are no items.
        """
        first = sum((each.first_items for each in self.epochs), np.zeros(self.workers))
        total = float(first.sum())
        return float(first[: skewed_workers(self.workers)].sum()) / total if total else 0.0

    @property
    def modelled_makespan_seconds(self) -> float:
        """Time of a run with one core per slot: the most loaded slot's time, summed over epochs."""
        return float(sum(each.slot_seconds.max() for each in self.epochs))

    def to_json(self) -> dict[str, Any]:
        """Return the figures under the names that the command line prints."""
        return {
            "pipeline": self.pipeline,
            "mode": self.mode,
            "workers": self.workers,
            "partitions": self.partitions,
            "subscriptions": self.subscriptions,
            **self._figures(),
            "messages": self.publications,
            "matches": self.matches,
            "matched_publications": self.matched_publications,
            "pairs_digest": self.pairs_digest,
            "expected_digest": self.expected_digest,
            "skew": self.skew,
            "realised_skew": self.realised_skew,
            **known(self.pace),
            "epoch_duration_ms": list(self.timing.epoch_ms),
            "publication_latency_ms": self.publication_latency_ms,
            "redistributions": [self._redistribution(each) for each in self.epochs if each.moved],
            "modelled_makespan_seconds": self.modelled_makespan_seconds,
            "rejected": self.rejected,
            "finished": self.finished,
            "finished_before": self.finished_before,
            "exports": [each.to_json() for each in self.exports],
            "results": None if self.results is None else str(self.results),
        }

    def _figures(self) -> dict[str, Any]:
        """Return the figures of the join: one value per run, or a list with one per epoch."""
        if not self.epochs:
            return {each.name: [] if each.of_epoch else 0 for each in _REPORTED} | {
                "loads": (0,) * self.workers
            }
        seen = [each.seen(self.measure) for each in self.epochs]
        run = reduce(JoinSeen.plus, seen).figures(of_epoch=False)
        epochs = [JoinFigures.of(each).named(of_epoch=True) for each in seen]
        return {
            each.name: [epoch[each.name] for epoch in epochs] if each.of_epoch else run[each.name]
            for each in _REPORTED
        } | {"loads": run["loads"]}

    def _redistribution(self, epoch: JoinEpoch) -> dict[str, Any]:
        """Describe a redistribution and its time, and the usual times of other epochs."""
        first = min(each.epoch for each in self.epochs)
        usual = [
            self.epoch_ms[each.epoch]
            for each in self.epochs
            # The first epoch loads all static partitions.
            if not each.moved and each.epoch != first and each.epoch in self.epoch_ms
        ]
        return {
            "epoch": epoch.epoch,
            "moved_partitions": list(epoch.moved),
            "seconds": epoch.redistribution_seconds,
            "load_seconds": epoch.moved_load_seconds,
            "epoch_duration_ms": self.epoch_ms.get(epoch.epoch),
            "usual_epoch_duration_ms": {
                "p50": float(np.median(usual)) if usual else None,
                "max": max(usual, default=None),
            },
        }
