"""Plans of windows: the hot keys, and where each is cut; made from counts, or read from `state`."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings import Plan, PlannedGrouping
from evenkey.spark.groups.weights import Side, Weights
from evenkey.spark.keys.explanation import counted_in
from evenkey.spark.plans.batch_plans import KeptPlan
from evenkey.spark.plans.costly_inputs import warn_of_costly
from evenkey.spark.plans.packed_plan import each_worker_once
from evenkey.spark.windows.order_cuts import Cuts, make_cuts

if TYPE_CHECKING:
    from evenkey.groupings import Snapshot
    from evenkey.spark.windows.window_request import WindowRequest

logger = logging.getLogger(__name__)

_FIX = "write it to a table first, or pass state=, which keeps the plan for later calls"


@dataclass(frozen=True, eq=False)
class WindowPlan:
    """What a call does and why; ``str`` returns it as one line, which the operator logs.

    Parameters
    ----------
    shown, workers
        The call as text, and the number of workers.
    reason
        Why Spark's own windows compute all columns; None: evenkey made a plan.
    memory
        Arrays of the plan of keys; empty if there is a `reason`.
    cuts
        The pieces of the hot keys; None: no key is hot, so Spark's own windows run.
    weights
        Counts of the keys; None: the plan was read from `state`.
    seconds
        Seconds that counting and sampling took; 0: the plan was read from `state`.
    """

    shown: str
    workers: int
    reason: str | None
    memory: Snapshot
    cuts: Cuts | None
    weights: Weights | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        begin = f"{self.shown}: "
        if self.reason is not None:
            return f"{begin}Spark's own windows ({self.reason})"
        made = counted_in(self.seconds, self.error)
        if self.cuts is None:
            why = "no key has more rows than a task should have"
            return f"{begin}Spark's own windows ({why}); {made}"
        pieces, keys = len(self.cuts.workers), len(self.cuts.hashes)
        hot = "1 hot key is" if keys == 1 else f"{keys} hot keys are"
        line = f"{begin}{hot} cut into {pieces} pieces, on {self.workers} workers"
        return f"{line}{self.bound}; {made}"

    @property
    def error(self) -> float:
        """Bound on the error of a worker's planned load, as a share of the mean."""
        return 0.0 if self.weights is None else self.weights.error

    @property
    def bound(self) -> str:
        """A note if one order value has so many rows that its piece has more than its share."""
        if self.cuts is None:
            return ""
        pieces = np.unique(self.cuts.table["hash"].to_numpy(), return_counts=True)[1].max()
        if self.cuts.tied * pieces <= 1:
            return ""
        share = f"{100 * self.cuts.tied:.0f} %"
        return f"; one order value has {share} of the rows of a hot key, and stays in one piece"


def planned(request: WindowRequest, *, counts: bool = False) -> WindowPlan:
    """Make the plan of a request, or read it from `state`.

    Parameters
    ----------
    request
        The checked arguments of `over`.
    counts
        Whether keys are counted also if `state` has a plan.

    Raises
    ------
    ConfigurationError, RunError
        As for `over`.
    """
    shown, workers, grouping = request.shown, request.workers, PlannedGrouping()
    if request.reason is not None:
        return WindowPlan(shown, workers, request.reason, {}, None)
    kept = KeptPlan.at(request.df.sparkSession, request.state, request.identity, workers)
    known = kept.find()
    if known and not counts:
        return WindowPlan(shown, workers, None, known, Cuts.from_arrays(known))
    start = time.perf_counter()
    side = Side(request.keys, request.cost)
    weights = Weights([side], grouping.statistics(workers), workers, exact=request.exact)
    if known:
        return WindowPlan(shown, workers, None, known, Cuts.from_arrays(known), weights)
    memory = grouping.fitted(weights.statistics, workers, {}, of_messages=weights.of_rows)
    plan = each_worker_once(Plan.from_arrays(memory))
    keys, rows = request.keys, int(weights.statistics.total) if weights.of_rows else None
    cuts = make_cuts(keys.frame, keys.hashed, request.orders, request.cost, plan, rows)
    made = {**plan.to_arrays(), **({} if cuts is None else cuts.to_arrays())}
    kept.keep(made)
    seconds = time.perf_counter() - start
    warn_of_costly(logger, shown, [keys.frame.select(keys.hashed)], seconds, _FIX)
    return WindowPlan(shown, workers, None, made, cuts, weights, seconds)
