"""The number of workers changes between epochs: by a command, by a rule, and by a restart."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.errors import RunError
from tests.spark.states.driven import Count, Driver, some_rows


def workers(driver, epoch):
    """Return the number of workers of an epoch, none of whose partitions has another owner."""
    plan = driver.decide(epoch)
    assert max(plan.owners) < plan.workers
    return plan.workers


def run(driver, epochs, before_epoch):
    count, random = Count(), np.random.default_rng(4)
    for epoch in range(epochs):
        before_epoch(epoch)
        rows = some_rows(random, epoch, count=40)
        assert driver.epoch(epoch, rows) == count.epoch(rows), epoch
    assert driver.states(epochs) == count.states


def test_by_a_command(tmp_path):
    driver = Driver(tmp_path, partitions=16, workers=4, most_workers=6)
    seen = []

    def before(epoch):
        if epoch in (2, 4, 6):
            driver.plans.root.put("workers", {2: b"6\n", 4: b"3", 6: b"99"}[epoch])
        seen.append(workers(driver, epoch))

    run(driver, 8, before)
    assert seen == [4, 4, 6, 6, 3, 3, 6, 6]
    driver.plans.root.put("workers", b"many")
    with pytest.raises(RunError, match=r"contains 'many': it must contain the number of workers"):
        driver.decide(9)


def test_new_workers_share_the_load(tmp_path):
    driver = Driver(tmp_path, partitions=32, workers=2, most_workers=8)
    driver.epoch(0, [(key, 1, key, key) for key in range(300)])
    driver.plans.root.put("workers", b"8")
    plan = driver.decide(1)
    log = driver.plans.log("q")
    rows = np.zeros(8)
    for record in log.records(driver.decide(0)):
        for partition, work in record.work.items():
            rows[plan.owners[partition]] += work.rows
    assert rows.sum() == 300
    assert rows.max() < 1.2 * rows.mean()


def test_by_a_rule_which_the_plan_keeps(tmp_path):
    asked = []

    def rule(seconds):
        asked.append(seconds)
        return 2 + len(asked) % 3

    driver = Driver(tmp_path, partitions=12, workers=2, most_workers=4, scale=rule)
    seen = []

    def before(epoch):
        seen.append(workers(driver, epoch))
        if epoch == 3:
            driver.restart()

    run(driver, 6, before)
    assert seen == [2, 3, 4, 2, 3, 4]
    assert len(asked) == 6
    assert [len(each) for each in asked[:4]] == [2, 3, 4, 2]
    assert (asked[0] > 0).all()


def test_a_rule_that_fails_is_reported(tmp_path):
    driver = Driver(tmp_path, scale=lambda seconds: seconds[99])
    driver.epoch(0, [(1, 1, 1, 1)])
    with pytest.raises(RunError, match="scale: the function raised IndexError"):
        driver.decide(1)


def test_by_a_restart(tmp_path):
    driver = Driver(tmp_path, partitions=12, workers=2)
    seen = []

    def before(epoch):
        if epoch:
            count = (2, 5, 1, 3)[epoch]
            driver.restart(workers=count, most_workers=count)
        seen.append(workers(driver, epoch))

    run(driver, 4, before)
    assert seen == [2, 5, 1, 3]


def test_an_epoch_that_runs_again_may_have_other_workers(tmp_path):
    driver, count = Driver(tmp_path, partitions=12, workers=2), Count()
    random = np.random.default_rng(4)
    for epoch in range(4):
        rows = some_rows(random, epoch, count=40)
        driver.epoch(epoch, rows)
        driver.restart(workers=epoch + 1, most_workers=epoch + 1)
        assert driver.epoch(epoch, rows) == count.epoch(rows)
        assert workers(driver, epoch) == epoch + 1
    assert driver.states(4) == count.states
