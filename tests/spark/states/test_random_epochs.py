"""Random histories of keyed state: kills, restarts, set-backs, moves, other workers, hot keys."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.spark.states import slot_task, state_log
from tests.session import CASES
from tests.spark.states.driven import Count, Driver, Killed, MortalStore, some_rows
from tests.tiers import most_in_soak

EPOCHS, KEPT = 14, 6


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(MortalStore, "left", None)
    monkeypatch.setattr(MortalStore, "late", False)
    monkeypatch.setattr(slot_task, "SNAPSHOT_EVERY", 3)
    monkeypatch.setattr(state_log, "KEPT", KEPT)
    monkeypatch.setattr("evenkey.spark.states.deciding._LEAST_ROWS", 50)


def run_killed(driver, random, epoch, rows):
    """Run an epoch, which is killed at most twice, at random requests; return its results."""
    for _ in range(2):
        MortalStore.late = bool(random.integers(2))
        MortalStore.left = int(random.integers(0, 90)) if random.random() < 0.4 else None
        try:
            return driver.epoch(epoch, rows, attempts=int(random.integers(1, 3)))
        except Killed:
            MortalStore.left = None
            count = int(random.integers(1, 5))
            driver.restart(workers=count, most_workers=count)
        finally:
            MortalStore.left = None
    return driver.epoch(epoch, rows)


def history(directory, seed):
    """Run a history that a seed draws, and compare each epoch, and all states, with a count."""
    random = np.random.default_rng(seed)
    driver = Driver(
        directory,
        partitions=int(random.integers(1, 9)),
        workers=2,
        most_workers=4,
        bits=int(random.choice([4, 64])),
        seed=seed,
    )
    counts = [Count()]
    epoch = shift = reached = 0
    for step in range(EPOCHS):
        event = random.random()
        if event < 0.1:
            driver.plans.root.put("workers", b"%d" % random.integers(1, 5))
        elif event < 0.2:
            driver.forget()
        elif event < 0.3:
            workers = int(random.integers(1, 5))
            driver.restart(workers=workers, most_workers=workers)
        elif event < 0.45 and epoch:
            epoch = max(0, reached - KEPT + 1, epoch - int(random.integers(1, KEPT)))
            driver.restart()
        shift = int(random.integers(25)) if random.random() < 0.3 else shift
        rows = some_rows(random, step, count=int(random.integers(1, 50)), shift=shift)
        del counts[epoch + 1 :]
        count = Count()
        count.states = dict(counts[epoch].states)
        # After a set-back the clock of event time may be behind the rows, and never ahead.
        expected = count.epoch(rows)
        counts.append(count)
        assert run_killed(driver, random, epoch, rows) == expected, (seed, step, epoch)
        reached = max(reached, epoch)
        epoch += 1
    driver.restart()
    assert driver.states(epoch) == counts[epoch].states, seed


@pytest.mark.slow(6)
@pytest.mark.parametrize("seed", most_in_soak(range(8), 6, slow=[0]))
def test_a_random_history_is_exact(tmp_path, seed):
    history(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_random_histories_are_exact(tmp_path):
    for seed in range(100, 100 + CASES):
        history(tmp_path / str(seed), seed)
