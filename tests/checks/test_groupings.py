"""The checks of groupings: correct groupings pass, and each check finds its kind of defect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from evenkey.checks import yield_checks
from evenkey.checks.groupings import weights_of_stream
from evenkey.groupings import Grouping, PartialKeyGrouping, PlannedGrouping, Router

CHECKS = [name for name, _ in yield_checks(PartialKeyGrouping())]


class InTurn(Router):
    """A correct round-robin router; each test gives it one defect."""

    local_fields: ClassVar[tuple[str, ...]] = ("place",)

    def __init__(self, workers, source):
        super().__init__(workers, source)
        self.place = source

    def _route(self, keys, times, weights, workers):
        del keys, times, weights
        workers[:] = (self.place + np.arange(len(workers))) % self.workers
        self.place = int(self.place + len(workers)) % self.workers

    def snapshot(self):
        return {"place": np.array([self.place])}

    def restore(self, snapshot):
        self.place = int(snapshot["place"][0])


@dataclass(frozen=True)
class Turns(Grouping):
    """A grouping whose routers are of a given class."""

    name: ClassVar[str] = "turns"
    made: Any = InTurn

    def _router(self, workers, source):
        return self.made(workers, source)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "grouping", [Turns(), PartialKeyGrouping(), PlannedGrouping(planning="current")], ids=str
)
def test_a_sound_grouping_passes(grouping, check):
    dict(yield_checks(grouping))[check]()


class OutOfRange(InTurn):
    def _route(self, keys, times, weights, workers):
        super()._route(keys, times, weights, workers)
        workers[-1] = self.workers


class CountsBatches(InTurn):
    def route(self, keys, times=None, weights=None):
        self.place += 1
        return super().route(keys, times, weights)


class StartsAnew(InTurn):
    def _route(self, keys, times, weights, workers):
        self.place = self.source
        super()._route(keys, times, weights, workers)


class Shares(InTurn):
    made = 0

    def __init__(self, workers, source):
        super().__init__(workers, source)
        self.place = Shares.made = Shares.made + 1

    def clone(self):
        return self

    def __getstate__(self):
        return {**vars(self), "place": 0}


class Forgets(InTurn):
    def snapshot(self):
        return {}

    def restore(self, snapshot):
        pass


class Writes(InTurn):
    def route(self, keys, times=None, weights=None):
        routed = super().route(keys, times, weights)
        if weights is not None and weights.flags.writeable:
            weights[0] = 7
        return routed


class CountsWeights(InTurn):
    def _route(self, keys, times, weights, workers):
        super()._route(keys, times, weights, workers)
        self.place += len(weights)


class TakesAnyWeights(InTurn):
    @staticmethod
    def _checked_weights(keys, weights):
        del keys, weights
        return np.ones(0, np.int64)


class Hoards(InTurn):
    keys: tuple[int, ...] = ()

    def _route(self, keys, times, weights, workers):
        self.keys += tuple(keys.tolist())
        super()._route(keys, times, weights, workers)


class CountsMessages(InTurn):
    """A router with a defect: it reports the messages it sent, not their weights."""

    local_fields: ClassVar[tuple[str, ...]] = ("place", "sent")

    def __init__(self, workers, source):
        super().__init__(workers, source)
        self.sent = np.zeros(workers)

    def _route(self, keys, times, weights, workers):
        super()._route(keys, times, weights, workers)
        self.sent += np.bincount(workers, minlength=self.workers)

    def snapshot(self):
        return {**super().snapshot(), "sent": self.sent}


@dataclass(frozen=True)
class PlansForNothing(Turns):
    plans_epochs: ClassVar[bool] = True

    def plan(self, keys, counts, workers):
        del keys, counts, workers
        return {}


@dataclass(frozen=True)
class LearnsNothing(Turns):
    learns: ClassVar[bool] = True


@pytest.mark.parametrize(
    ("grouping", "check"),
    [
        (Turns(OutOfRange), "check_workers_are_in_range"),
        (Turns(OutOfRange), "check_one_worker_gets_everything"),
        (Turns(CountsBatches), "check_empty_batch_changes_nothing"),
        (Turns(CountsBatches), "check_batch_equals_message_by_message"),
        (Turns(StartsAnew), "check_any_cut_gives_the_same_result"),
        (Turns(Shares), "check_routing_is_repeatable"),
        (Turns(Shares), "check_clone_is_independent"),
        (Turns(Shares), "check_pickling_keeps_state"),
        (Turns(Forgets), "check_snapshot_keeps_state"),
        (Turns(Forgets), "check_snapshot_holds_the_local_fields"),
        (Turns(Writes), "check_input_is_left_alone"),
        (Turns(CountsWeights), "check_weights_of_one_are_no_weights"),
        (Turns(CountsMessages), "check_weights_are_counted"),
        (Turns(TakesAnyWeights), "check_bad_weights_are_refused"),
        (PlansForNothing(), "check_plan"),
        (PlansForNothing(), "check_epochs_are_planned"),
        (Turns(Hoards), "check_memory_is_bounded"),
        (LearnsNothing(), "check_memory_carries_over"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_defect_is_found(grouping, check):
    with pytest.raises((AssertionError, KeyError)):
        dict(yield_checks(grouping))[check]()


def test_most_messages_weigh_one_and_some_as_much_as_fifty():
    weights = weights_of_stream()
    assert np.mean(weights == 1) > 0.5
    assert (weights.min(), weights.max()) == (1, 50)
