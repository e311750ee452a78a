"""Scenarios of joins: a pipeline in one join mode, run on Spark with new data in each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from evenkey.papers.experiments import DISTRICTS, Dataset, Scale, Timed, TimedRun
from evenkey.papers.publish_subscribe import MODES

if TYPE_CHECKING:
    from evenkey.papers.experiments.scenario import OnMessages
    from evenkey.papers.publish_subscribe import JoinConfig, JoinReport
    from evenkey.pipeline.runs import EpochProgress


_SLOW_DOWN = 20.0

MACHINE = (
    "The paper had 16 machines of 8 cores and Kafka; here 16 worker slots share this machine's "
    "cores, and tasks make the publications."
)
ASLEEP = (
    "So that the slots work side by side, each is an executor of its own, and matching is "
    f"{_SLOW_DOWN:g}x slower than its processor time: a slot sleeps for the rest."
)
MODELLED = (
    "Modelled figures leave out all but the slots' own work, without their sleep: the processor "
    "time of the most loaded slot in each epoch."
)
MEDIANS = (
    "Each figure is the median of the runs, each on data of its own, where the paper has means; "
    "places are British postcode districts, where the paper has their sectors."
)
SKEW = (
    "Skew is shown as it came out: the share of items (rows that publications become) for the "
    "partitions that 3 of 16 workers had at first. It differs from the nominal s where polygons "
    "fall on several partitions, and where too few publications match these partitions to reach s."
)
CLOCK = "Load is seconds of work, so all figures but the skew differ from run to run."
"""How the experiments on joins differ from the paper; each summary has those that concern it."""

_PAPER_PUBLICATIONS, _PAPER_SUBSCRIPTIONS = 100_000, 10_000
_KAFKA_PARTITIONS = 32
_SECONDS = 120.0
_PAPER_EPOCHS = round(_SECONDS / 0.5)
_OPTIONS = (
    *("pipeline", "mode", "skew", "subscriptions", "workers", "sources", "epochs"),
    *("force_redistribution", "partitions", "polygon_share", "polygon_clustering", "slow_down"),
)

_REVISION = 3
"""Revision of the measuring code. Since revision 2, skew in RIhPS and RIsPS is made according to
the workers that own the candidate subscriptions. Since revision 3, each slot is an executor."""


@dataclass(frozen=True)
class JoinRun(Timed):
    """Runs a geospatial publish/subscribe pipeline in one join mode.

    Each run has its own subscriptions and publications. The result contains throughput, latency,
    modelled makespan and the time of redistributions. Its series has one row per epoch.

    Parameters
    ----------
    pipeline, mode, skew, subscriptions, workers, sources, epochs
        As for `evenkey.papers.publish_subscribe.JoinConfig`.
    force_redistribution, partitions, polygon_share, polygon_clustering, slow_down
        As for `evenkey.papers.publish_subscribe.JoinConfig`.
    revision
        Revision of the measuring code. Results of an earlier revision are not reused.
    """

    kind: ClassVar[str] = "join"
    fresh: ClassVar[bool] = True

    pipeline: str
    mode: str
    skew: float
    subscriptions: int = _PAPER_SUBSCRIPTIONS
    workers: int = 16
    sources: int = _KAFKA_PARTITIONS
    epochs: int = _PAPER_EPOCHS
    force_redistribution: int | None = None
    partitions: int = 64
    polygon_share: float = 0.6
    polygon_clustering: float = 0.0
    slow_down: float = 1.0
    revision: int = 1

    @property
    def at_once(self) -> int:
        """The number of modes that are compared."""
        return len(MODES)

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Run the pipeline."""
        from evenkey.papers.publish_subscribe import run_join
        from evenkey.spark.sessions import change_session

        if change_session(self.kind):
            # The first stream of a session is slower, because Java compiles Spark's code.
            run_join(self.config())

        def show(progress: EpochProgress) -> None:
            if on_messages is not None:
                on_messages(progress.messages)

        report = run_join(self.config(), on_progress=show, warm_up=True)
        return TimedRun({}, _timings(report), _epochs(report))

    def config(self) -> JoinConfig:
        """Return the configuration of the pipeline."""
        from evenkey.papers.publish_subscribe import JoinConfig

        return JoinConfig(
            publications=self.dataset.messages or _PAPER_PUBLICATIONS,
            seed=self.dataset.seed,
            seconds=_SECONDS,
            polygons=self.dataset.file if self.dataset.is_file else None,
            **{name: getattr(self, name) for name in _OPTIONS},
        )


class _Size(NamedTuple):
    publications: int
    subscriptions: int
    sources: int
    epochs: int


_SIZES = {
    "quick": _Size(6000, 1000, 2, 12),
    "medium": _Size(30_000, 1000, 2, 24),
    "full": _Size(_PAPER_PUBLICATIONS, _PAPER_SUBSCRIPTIONS, _KAFKA_PARTITIONS, _PAPER_EPOCHS),
}
"""Sizes of a run, by the name of the scale."""


class _Mix(NamedTuple):
    partitions: int
    polygon_share: float
    polygon_clustering: float


_SPREAD = _Mix(64, 0.6, 0.0)
_CLUSTERED = _Mix(128, 0.3, 1.0)


def join_run(
    scale: Scale,
    pipeline: str,
    mode: str,
    skew: float,
    *,
    subscriptions: int | None = None,
    force_redistribution: int | None = None,
    clustered: bool = False,
    shorter: int = 1,
) -> JoinRun:
    """Declare the scenario of a join at a scale.

    Parameters
    ----------
    scale
        ``full``: the paper's 100,000 publications, 10,000 subscriptions, 32 sources, epochs of 500
        ms of stream time. ``medium``: 30,000 publications, 1,000 subscriptions, epochs of 5 s.
        ``quick``: 6,000 publications, 1,000 subscriptions, epochs of 10 s.
    pipeline, mode, skew, force_redistribution
        As for `JoinRun`.
    subscriptions
        Number of subscriptions. None: the scale's number.
    clustered
        Whether polygons are 30 % of the publications and fill their own regions, on 128
        partitions. Otherwise they are 60 % of the publications everywhere, on 64 partitions.
    shorter
        Number by which publications and epochs are divided below scale ``full``.
    """
    size, mix = _SIZES[scale.name], _CLUSTERED if clustered else _SPREAD
    divisor = 1 if scale.whole else shorter
    return JoinRun(
        Dataset(DISTRICTS, size.publications // divisor),
        pipeline,
        mode,
        skew,
        subscriptions=subscriptions or size.subscriptions,
        sources=size.sources,
        epochs=size.epochs // divisor,
        force_redistribution=force_redistribution,
        repeats=scale.repeats,
        partitions=mix.partitions,
        polygon_share=mix.polygon_share,
        polygon_clustering=mix.polygon_clustering,
        slow_down=_SLOW_DOWN,
        revision=_REVISION,
    )


def _timings(report: JoinReport) -> dict[str, float]:
    figures = report.to_json()
    moves = figures["redistributions"]
    modelled = report.modelled_makespan_seconds
    pauses = [
        each["epoch_duration_ms"] / each["usual_epoch_duration_ms"]["p50"]
        for each in moves
        if each["epoch_duration_ms"] and each["usual_epoch_duration_ms"]["p50"]
    ]
    return {
        **({"longest_move": max(pauses)} if pauses else {}),
        "realised_skew": report.realised_skew,
        "throughput": figures["messages_per_second"],
        "latency_mean_ms": float(np.mean(figures["epoch_duration_ms"])),
        "modelled_throughput": report.publications / modelled,
        "modelled_latency_ms": 1000 * modelled / len(report.epochs),
        "work_us": 1e6
        * sum(float(each.seconds.sum()) for each in report.epochs)
        / report.publications,
        "mldc_first": report.mldc[0],
        "mldc_last": report.mldc[-1],
        "redistributions": float(len(moves)),
        "moved_partitions": float(sum(len(each["moved_partitions"]) for each in moves)),
        "redistribution_seconds": float(sum(each["seconds"] for each in moves)),
        "load_seconds": float(sum(each["load_seconds"] for each in moves)),
        "static_loads": float(figures["static_loads"]),
    }


def _epochs(report: JoinReport) -> pa.Table:
    """Return one row per epoch: its time in the stream, its throughput, and its MLDC."""
    share, length = report.publications / len(report.epochs), _SECONDS / len(report.epochs)
    rows = [
        {
            "seconds": (number + 1) * length,
            "throughput": 1000 * share / report.epoch_ms[each.epoch],
            "modelled_throughput": share / float(each.slot_seconds.max()),
            "mldc": mldc,
        }
        for number, (each, mldc) in enumerate(zip(report.epochs, report.mldc, strict=True))
    ]
    return pa.Table.from_pylist(rows)
