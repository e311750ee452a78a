"""A stream with state: balanced, exact after a restart, and with evenkey on the driver only."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from evenkey import spark as operators
from tests.epochs import run_epochs
from tests.executor_environment import make_environment
from tests.spark import light_executors
from tests.spark.offered import offer, stream_of

eks: Any = operators
WORKERS = 4  # equals the number of shuffle partitions
USERS, ROWS = 12, 480


class Seen(StatefulProcessor):
    """Counts the rows of a user, and records the task that they are in."""

    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803 - Spark's names
        previous = self.seen.get()[0] if self.seen.exists() else 0
        seen = previous + sum(map(len, rows))
        self.seen.update((seen,))
        context = TaskContext.get()
        assert context is not None
        yield pd.DataFrame({"user": [key[0]], "seen": [seen], "task": [context.partitionId()]})

    def close(self):
        pass


def test_a_restarted_stream_finds_the_state_of_each_key(session, tmp_path):
    rows = pa.table({"user": [f"user {n % USERS}" for n in range(ROWS)], "n": range(ROWS)})
    epochs = [rows.slice(0, 240), rows.slice(240)]
    plans, place = tmp_path / "plans", tmp_path / "input"
    everything = session.createDataFrame(rows.to_pandas())
    eks.fit(everything, "user", "whole", WORKERS, state=plans)
    seen: dict[str, int] = {}
    tasks: dict[str, set[int]] = {}
    for offered in (1, 2):  # the second query continues from the checkpoint of the first
        offer(place, epochs[:offered])
        grouped = eks.groupBy(stream_of(session, place), "user", workers=WORKERS, state=plans)
        counted = grouped.transformWithStateInPandas(
            Seen(), "user string, seen long, task int", "Update", "None"
        )
        for found in run_epochs(counted, tmp_path / "checkpoint").values():
            for row in found.to_pylist():
                seen[row["user"]] = row["seen"]
                tasks.setdefault(row["user"], set()).add(row["task"])
        assert sum(seen.values()) == 240 * offered
        # A later plan, made from other rows, must not move keys away from their state.
        eks.fit(everything.where("user > 'user 4'"), "user", "whole", WORKERS, state=plans)
    assert seen == Counter(rows["user"].to_pylist())
    assert {len(each) for each in tasks.values()} == {1}
    assert Counter(task for each in tasks.values() for task in each) == dict.fromkeys(range(4), 3)
    # Spark's own placement of the same users is unbalanced.
    own = everything.select("user", F.expr(f"pmod(hash(user), {WORKERS})")).distinct().collect()
    assert max(Counter(task for _, task in own).values()) > 3


def test_a_stream_with_state_runs_where_only_the_driver_has_evenkey(tmp_path):
    """As on a cluster: Spark also starts a process beside the driver, which gets no files."""
    users = [f"user {n % 7}" for n in range(100)] + ["user 3"] * 60
    (tmp_path / "input").mkdir()
    for number in range(2):
        half = users[number::2]
        rows = pa.table({"user": half, "amount": range(len(half)), "seconds": [0.0] * len(half)})
        pq.write_table(rows, tmp_path / "input" / f"{number}.parquet")
    words, kept = light_executors.command("local[2]", tmp_path, "state")
    python = make_environment(tmp_path / "environment")
    kept["PYSPARK_PYTHON"] = str(python)
    done = subprocess.run(words, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000] + done.stderr[2000:][-2000:]
    # Programs of Spark print to the same output.
    (result,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
    found = json.loads(result)
    assert found == {"executors": [[str(python), ""]], "counts": Counter(users)}
