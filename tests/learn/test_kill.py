"""A learner's run that is killed in the middle of an epoch and restarted."""

from __future__ import annotations

import pytest

from evenkey.applications import Documents, NaiveBayes
from evenkey.pipeline.learn.models import Models
from tests.learn.test_learning import in_one_go
from tests.runs.killing import finish, kill_in_the_middle, placed, started

RECORDS, EPOCHS = 400, 4


def command(output, cost_ms):
    return [
        *("--application", "naive-bayes", "--dataset", "documents(words=200,size=5)"),
        *("--messages", str(RECORDS), "--epochs", str(EPOCHS), "--grouping", "dkg"),
        *("--workers", "4", "--sources", "3", "--cost-ms", str(cost_ms), "--output", str(output)),
    ]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_killed_learner_learns_each_epoch_once(tmp_path):
    output, log = tmp_path / "out", tmp_path / "log"
    with started(command(output, cost_ms=15), log) as process:
        kill_in_the_middle(process, output, log)
    models = Models(output / "models", NaiveBayes())
    before = {number: models.store.read(models.name(number)) for number in models.numbers()}
    assert 1 <= len(before) < EPOCHS

    report = finish(command(output, cost_ms=0))
    assert report["finished"]
    assert (report["records"], report["messages"]) == (RECORDS, RECORDS * 6)
    assert len(report["learned"]) == EPOCHS
    records = Documents(words=200, size=5, length=RECORDS).records(0, RECORDS)
    assert models.read().to_table() == in_one_go(records).to_table()
    # The models of completed epochs are unchanged.
    assert {number: models.store.read(models.name(number)) for number in before} == before
    share = RECORDS // EPOCHS
    for epoch in range(1, EPOCHS + 1):
        so_far = in_one_go(records.slice(0, epoch * share))
        assert models.read(epoch).to_table() == so_far.to_table()
    assert sum(placed(output)["messages"].to_pylist()) == RECORDS * 6
