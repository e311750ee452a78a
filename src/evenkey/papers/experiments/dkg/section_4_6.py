"""DKG, section 4.6: the workers of a hot key through time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.core.hashing import murmur3_strings
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Scale,
    SeveralStreams,
    series,
)
from evenkey.papers.experiments.dkg.methods import NO_KEY_SPACE
from evenkey.papers.experiments.hot_key_stream import HotKeyStream
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    _Share = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_SECONDS, _HALF, _PERIOD, _LOOK = 800, 400, 10, 5
_MESSAGES = 400_000
_HOT_SECONDS = 14
_INITIAL = 2


def _hot_between(
    start: float, stop: float, hot: float, cold: float, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.where((times >= start) & (times < stop), hot, cold)


def _rising(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.26 * np.minimum(times / 200, 1)


_SPIKES = {
    f"spike at {start} s": partial(_hot_between, start, start + _HOT_SECONDS, 0.9, 0.0)
    for start in range(60, 120, 10)
}
_STEADY, _RISES, _COLD, _BURST = "steady", "rises slowly", "becomes cold", "burst at the start"
COURSES: Mapping[str, _Share] = {
    _STEADY: partial(_hot_between, 0, _SECONDS, 0.8, 0.0),
    _RISES: _rising,
    _COLD: partial(_hot_between, 0, _HALF, 0.8, 0.02),
    _BURST: partial(_hot_between, 0, 10, 0.9, 0.0),
    **_SPIKES,
}
"""The share of the messages that the hot key has at each time, besides the 0.5 % of every name."""

_NO_WARM_UP = "dkg(warm_up=0)"
_NO_KEY_SPACE_NO_WARM_UP = f"{NO_KEY_SPACE[:-1]},warm_up=0)"
_NO_THRESHOLD = "dkg(scale_out=10)"
_A_CHECK_A_MINUTE = "dkg(check_interval=60)"
_README_SCALE_IN = "dkg(scale_in=minus-root)"
_REFERENCE = "dkg(variant=reference)"
_NAMES = {
    "dkg": "DKG",
    _NO_THRESHOLD: "no threshold",
    NO_KEY_SPACE: "no key space",
    _NO_WARM_UP: "no warm-up",
    _NO_KEY_SPACE_NO_WARM_UP: "no key space, no warm-up",
    _A_CHECK_A_MINUTE: "a check a minute",
    _README_SCALE_IN: "scale-in at L - sqrt(L)",
    _REFERENCE: "DKG (reference)",
}
_RULES: Mapping[str, Sequence[str]] = {
    _STEADY: ("dkg", _A_CHECK_A_MINUTE),
    _RISES: ("dkg", _NO_THRESHOLD),
    _COLD: ("dkg", _REFERENCE, _README_SCALE_IN),
    _BURST: ("dkg", _NO_WARM_UP, NO_KEY_SPACE, _NO_KEY_SPACE_NO_WARM_UP),
    **dict.fromkeys(_SPIKES, ("dkg", NO_KEY_SPACE)),
}
"""The rules to compare on each course."""


@dataclass(frozen=True)
class HotKeyPool(SeveralStreams):
    """Observes the workers of a key whose share of the messages changes; one source routes.

    Parameters
    ----------
    grouping
        A spelling of `evenkey.groupings.DynamicKeyGrouping`.
    course
        How the share of the key changes, by its name in `COURSES`.
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "hot-key-pool"

    grouping: str
    course: str
    workers: int = 10

    def once(self) -> tuple[dict[str, float], pa.Table]:
        """Route one stream; return the figures, and the size of the pool every `_LOOK` seconds."""
        cold = generated(
            self.dataset.name,
            messages=self.dataset.messages,
            seed=self.dataset.seed,
            rate=self.dataset.rate,
        )
        hashes = murmur3_strings(cold.texts(np.arange(cold.key_count)))
        hot = cold.key_count // 2
        router = parse(self.grouping).router(self.workers)
        times, used, pools = [np.zeros(0)], [np.zeros(0, dtype=np.int32)], []
        stream = HotKeyStream(cold, hot, COURSES[self.course])
        for batch in stream.batches(round(_LOOK * cold.per_second)):
            workers = router.route(hashes[batch.ids], batch.times)
            mine = batch.ids == hot
            times.append(batch.times[mine])
            used.append(workers[mine])
            items = router.snapshot()["items"]
            pools.append(int(items["pool"][items["key"] == hashes[hot]].max(initial=_INITIAL)))
        table = pa.table({"seconds": _LOOK * np.arange(1.0, len(pools) + 1), "pool": pools})
        home = int(hashes[hot] % np.uint64(self.workers))
        figures = {
            "pool_half": float(pools[len(pools) * _HALF // _SECONDS - 1]),
            "pool_end": float(pools[-1]),
            "changes": float(np.count_nonzero(np.diff(pools))),
            **self._figures(np.concatenate(times), np.concatenate(used), home),
        }
        return figures, table

    def _figures(
        self, times: NDArray[np.float64], used: NDArray[np.int32], home: int
    ) -> dict[str, float]:
        """Return figures of the messages of the key: their times, and their workers."""
        periods = np.unique(np.stack([times // _PERIOD, used]).astype(np.int64), axis=1)[0]
        figures = {"workers_most": float(np.bincount(periods).max())}
        if self.course == _COLD:
            further = (used - home) % self.workers >= _INITIAL
            last = times[further].max(initial=0.0)
            figures["leaving_seconds"] = max(0.0, float(last) - _HALF)
        return figures


class WorkersOfAHotKey(Experiment):
    id = "dkg-section-4-6"
    title = "The workers of a hot key through time"
    summary = (
        "204 names of countries without skew, 10 workers, one source, 800 s. In addition, one name "
        "has a share of the messages: 80 % (steady), 0 to 26 % in 200 s and then 26 % (rises "
        "slowly), 80 % for 400 s and then 2 % (becomes cold), 90 % in the first 10 s (burst), or "
        f"90 % for {_HOT_SECONDS} s (spikes). DKG is compared with itself without one of its "
        "rules: without a threshold, a key gets a further worker as soon as its workers have "
        "more than the mean load; without the key space every key can, once it has occurred for "
        "a second. Workers are those that get messages of the key in 10 s. They can be fewer "
        "than the pool has: a worker that has just joined gets all messages at first. The size "
        f"of the pool is read every {_LOOK} s: what it is between two readings does not count. "
        "Medians of three streams, in brackets all three."
    )

    table = "Workers of the hot key"
    columns = (
        Column("course", "Course"),
        Column("rule", "Rules"),
        Column("workers_most", "Workers, most in 10 s", ".0f"),
        Column("pool_half", "Pool, at 400 s", ".0f"),
        Column("pool_end", "Pool, at the end", ".0f"),
        Column("changes", "Changes of the pool", ".0f"),
        Column("leaving_seconds", "Left its further workers after, s", ".2f"),
    )
    note = (
        "The last column: seconds from the end of the hot phase to the last message of the key on "
        "another worker than its first two."
    )
    charts = (
        Chart(
            "Size of the hot key's pool",
            Axis("seconds", "Stream time, s"),
            Axis("pool", "Workers"),
            "rule",
            panels=Grid("course", shared=True),
        ),
    )

    def scenarios(self, scale: Scale) -> list[HotKeyPool]:
        messages = scale.messages(_MESSAGES)
        stream = Dataset("country-skew-r0", messages, messages / _SECONDS)
        return [HotKeyPool(stream, rule, course) for course in COURSES for rule in _RULES[course]]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(rule=frame["grouping"].map(_NAMES))

    def plots(self, frame: Frame) -> list[Plot]:
        shown = frame[~frame["course"].isin([*_SPIKES][1:-1])]
        return [chart.plot(series(shown)) for chart in self.charts]
