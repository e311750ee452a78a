"""The router of planned grouping."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.groupings.base import Router, Snapshot
from evenkey.groupings.planned.compiled_plan import compile_plan
from evenkey.groupings.planned.plan import Plan
from evenkey.groupings.planned.statistics import KeyStatistics
from evenkey.groupings.planned.surprise import CELL_BITS, NO_CELLS, NO_RULES, Cells, cells_for
from evenkey.groupings.tables.key_table import check_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings.planned.surprise import SurpriseRules

_SOURCES_APART = 0.7548776662466927
"""Inverse of the plastic number. The offset of source s is s times this number, modulo 1. So the
offsets fill [0, 1) uniformly, and they differ from the multiples of the golden ratio, which
determine the workers of the messages of split keys."""


class PlannedRouter(Router):
    """Routes by a plan, and counts keys for the next plan.

    Parameters
    ----------
    plan
        The plan to follow until `remember` replaces it.
    source
        Index of the source.
    statistics
        Empty statistics, from which only the numbers of tracked keys and of buckets are used.
    learning
        Whether to count keys for later plans.
    capacities
        float64[W], relative capacity of each worker.
    rules
        Rules that decide which keys are surprising, that is, more frequent than planned. None: no
        key is surprising.
    """

    local_fields: ClassVar[tuple[str, ...]] = ("dealt",)

    def __init__(
        self,
        plan: Plan,
        source: int,
        statistics: KeyStatistics,
        *,
        learning: bool,
        capacities: NDArray[np.float64],
        rules: SurpriseRules | None,
    ) -> None:
        super().__init__(plan.workers, source)
        self._learning = learning
        self._shares = capacities / capacities.sum()
        self._rules = rules
        self._empty = statistics
        self._known: Snapshot = {}
        self._offset = source * _SOURCES_APART % 1.0
        self._follow(plan)
        self._forget()

    def _follow(self, plan: Plan) -> None:
        self._plan = plan
        self._lookup = compile_plan(plan)
        self._bits = np.uint64(len(self._lookup.slot_keys).bit_length() - 1)
        self._dealt = np.zeros(len(self._lookup.starts) - 1, dtype=np.int64)

    def _forget(self) -> None:
        self._epoch = KeyStatistics(self._empty.sketch.capacity, len(self._empty.bucket_loads))
        self._sent = np.zeros(self.workers, dtype=np.int64)
        surprises = self._rules is not None and "counted" not in self._known
        self._cells = cells_for(self._known) if surprises else NO_CELLS

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times
        from evenkey.groupings.planned import _kernels

        buckets = self._epoch.bucket_loads if self._learning else self._epoch.bucket_loads[:0]
        state = (self._dealt, self._sent, buckets)
        surprise = (*self._cells, self._shares, self._rules or NO_RULES)
        _kernels.planned(
            keys, weights, self._lookup, self._bits, self._offset, state, surprise, workers
        )
        if self._learning:
            self._epoch.sketch.update(keys, weights if len(weights) else None)

    def snapshot(self) -> Snapshot:
        """Return a copy of the whole state, including the counts of the epoch."""
        cells, tally = self._cells
        counted = np.frombuffer(cells.tobytes(), dtype=np.uint8)
        return {
            **self.memory(),
            "dealt": self._dealt.copy(),
            "cells": counted,
            "tally": tally.copy(),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a whole snapshot, or only its message counters of split keys."""
        if "loads" in snapshot:
            self.remember(snapshot)
            sent, tally = snapshot["sent"].astype(np.int64), snapshot["tally"].copy()
            rows = snapshot["cells"].view(self._cells.rows.dtype).copy()
            check_read(
                sound=sent.shape == (self.workers,)
                and len(rows) in (0, 1 << CELL_BITS)
                and tally.shape == NO_CELLS.tally.shape
            )
            self._sent, self._cells = sent, Cells(rows, tally)
            if self._learning:
                self._epoch = KeyStatistics.from_arrays(snapshot, "epoch")
        # If the counters belong to the split keys of another plan, they are useless.
        if len(snapshot["dealt"]) == len(self._dealt):
            self._dealt = snapshot["dealt"].astype(np.int64)

    def memory(self) -> Snapshot:
        """Return the plan, the statistics behind the plan, and the statistics of this epoch."""
        memory = {**self._plan.to_arrays(), **self._known, "sent": self._sent.copy()}
        return memory | self._epoch.to_arrays("epoch") if self._learning else memory

    def remember(self, memory: Snapshot) -> None:
        """Follow the plan in a memory from now on, and start new counts."""
        if memory:
            kept = ("past_", "expected_", "counted")
            self._known = {name: memory[name] for name in memory if name.startswith(kept)}
            buckets = len(self._empty.bucket_loads) if self._learning else None
            self._follow(Plan.from_arrays(memory, self.workers, buckets))
            self._forget()
