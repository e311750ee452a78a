"""The tasks of a spatial join, run one after the other in this process."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import shapely

from evenkey.core.stores import LocalStore
from evenkey.joins.balance.distributor import DynamicDistributor
from evenkey.joins.balance.epoch_plans import EpochPlans
from evenkey.joins.balance.modes import Mode
from evenkey.joins.balance.work import items, seconds
from evenkey.joins.matching.on import PIPELINES, SpatialMatch
from evenkey.joins.matching.partition_join import PARTITION
from evenkey.joins.sides.division import StaticSpread
from evenkey.joins.sides.write_tasks import WriteTask
from evenkey.joins.space.partitioners import kdb
from evenkey.joins.static.manifest import StaticFile
from evenkey.joins.static.static_store import StaticStore
from evenkey.joins.tasks.join_task import JoinTask
from evenkey.joins.tasks.spreading import SpaceSpread
from evenkey.spark.sessions.task_id import TaskId

QUERY = "q"


def leaves_of(static, partitions):
    """Divide space according to the static geometries."""
    bounds = shapely.bounds(shapely.from_wkb(static["geometry"].to_numpy()))
    return kdb((bounds[:, :2] + bounds[:, 2:]) / 2, partitions)


def write(store, static, match, leaves):
    """Write a version of the static side with Spark's tasks, run in this process."""
    writer, partitions = store.begin(), leaves.partitions
    numbers = pa.array(np.arange(static.num_rows, dtype=np.int32) % partitions)
    hashed = static.append_column(PARTITION, numbers) if match.by_hash else static
    spread = list(StaticSpread(match, leaves, None, writer.version.number)(hashed.to_batches()))
    written = [row for batch in WriteTask(writer, match)(spread) for row in batch.to_pylist()]
    index = [pa.ipc.open_stream(row["index"]).read_all() for row in written if row["index"]]
    return store.commit(
        writer,
        {
            row["partition"]: StaticFile(row["rows"], row["bytes"], row["checksum"])
            for row in written
        },
        partitions=partitions,
        partitioning={**match.to_json(), **leaves.to_json()},
        columns={"subscription": "bigint", "geometry": "binary"},
        schema=pa.schema([field for field in spread[0].schema if field.name != PARTITION]),
        index=writer.write(None, pa.concat_tables(index))[0] if index else None,
    )


class Join:
    """A spatial join, run epoch by epoch."""

    def __init__(
        self, directory, static, pipeline, mode, *, partitions, workers, forced=(), heavy=None
    ):
        kind = Mode.parse(mode)
        match = SpatialMatch(relation_column="relation", pipeline=pipeline)
        leaves, store = leaves_of(static, partitions), StaticStore(directory / "static")
        self._write = lambda rows: write(store, rows, match, leaves)
        manifest = self._write(static)
        load = heavy or (items if kind.balance == "rows" else seconds)
        distributor = DynamicDistributor(load=load, forced=forced, copies=heavy is not None)
        planner = EpochPlans(
            epochs=LocalStore(directory / "epochs"),
            static=store,
            partitions=partitions,
            workers=workers,
            distributor=distributor if kind.dynamic else None,
            event_time=False,
            batch_version=manifest.version,
            shape=manifest.shape,
        )
        self._planner = planner
        self.log = planner.log(QUERY)
        self._workers = workers
        self._spread = SpaceSpread(
            planner, "geometry", candidates=match.replicates_index, dead_letters=None
        )
        bounds = None if match.replicates_index else leaves.bounds
        self._task = JoinTask(
            PIPELINES[pipeline]("geometry", ("publication",), "geometry", bounds),
            planner,
            cache_bytes=1 << 30,
            cache_static=kind.cache_static,
            time=None,
        )

    def refresh(self, static):
        """Write another version of the static side, with the division of the first."""
        self._write(static)

    def run(self, monkeypatch, epoch, published, digest):
        """Run an epoch and add its pairs to a digest."""
        self._at(monkeypatch, epoch, 0)
        placed = self._planner.decide(TaskId(QUERY, epoch, 0)).placement
        rows = pa.Table.from_batches(self._spread(published.to_batches()))
        dealt = [[*placed.slots(partition)] for partition in rows[PARTITION].to_pylist()]
        slots = np.array([each[row % len(each)] for row, each in enumerate(dealt)])
        for slot in range(self._workers):
            self._at(monkeypatch, epoch, slot)
            mine = rows.take(pa.array(np.flatnonzero(slots == slot)))
            for batch in self._task(mine.to_batches()):
                digest.add(batch["publication"].to_numpy(), batch["subscription"].to_numpy())

    @staticmethod
    def _at(monkeypatch, epoch, partition):
        task = TaskId(QUERY, epoch, partition)
        monkeypatch.setattr("evenkey.joins.balance.epoch_plans.current_task", lambda: task)
