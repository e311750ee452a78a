"""The observer counts the workers of hot keys, in an epoch and in the run so far."""

from __future__ import annotations

import pyarrow as pa

from evenkey.pipeline.aggregate.observer import Observed, Observer
from evenkey.pipeline.runs.output.commits import Commits
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.epoch_files import EpochFiles

PLACED = [
    [(0, "hot", 8), (1, "hot", 7), (2, None, 3), (0, "cold", 1)],
    [(2, "hot", 9), (2, None, 4), (1, "cold", 1)],
]
"""Worker, key and messages, by epoch."""


def test_workers_of_hot_keys_add_up_over_epochs(tmp_path):
    output = RunDirectory(tmp_path)
    output.store.create("state/manifest.json", b'{"workers": 3, "format": 4}')
    commits = Commits(tmp_path, claim=1)
    for epoch, placed in enumerate(PLACED):
        worker, key, messages = zip(*placed, strict=True)
        table = pa.table({"worker": pa.array(worker, pa.int32()), "key": key, "messages": messages})
        EpochFiles(commits, "state/").write("placed", epoch, 0, table)
        commits.commit(f"epoch={epoch:08d}")
    seen: list[Observed] = []
    Observer(output.files, 3, on_epoch=seen.append).catch_up()
    assert [
        [(hot.key, hot.messages, hot.pool, hot.run_workers) for hot in each.hottest]
        for each in seen
    ] == [
        [("hot", 15, (0, 1), 2), ("(null)", 3, (2,), 1), ("cold", 1, (0,), 1)],
        [("hot", 9, (2,), 3), ("(null)", 4, (2,), 1), ("cold", 1, (1,), 2)],
    ]
