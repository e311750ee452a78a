"""Checkpoints, records of moved states and the restoring of variables, without Spark."""

from __future__ import annotations

import json
import pickle
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore, store_at
from evenkey.spark.moves.checkpoints import read_checkpoint, start_positions
from evenkey.spark.moves.moved_state import (
    MovedState,
    Variable,
    begin,
    begun,
    find,
    parts_of,
    record,
)
from evenkey.spark.moves.new_query import _complete, check_fits, check_old_query, check_server
from evenkey.spark.moves.restoring import TIMER, Restoring, packing

MOVED = MovedState(
    checkpoint="/old",
    query="one",
    batch=4,
    workers=3,
    cost=None,
    positions=('{"clicks":{"0":12}}',),
    watermark=7,
    states=5,
    timers=2,
    time_mode="EventTime",
    key_types=("string", "bigint"),
    variables=(Variable("seen", "value", ("struct<n:bigint>",)),),
    folder="rebalanced/states-1",
    parts=("rebalanced/states-1/part-0.parquet", "rebalanced/states-1/part-1.parquet"),
)
KAFKA = '{"clicks":{"0":12,"1":7}}'


def written(directory, *, offsets=4, commits=4, sources=(KAFKA,), version="v1"):
    """Write a checkpoint as Spark does."""
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 9, "conf": {}})
    for folder, last in (("offsets", offsets), ("commits", commits)):
        (directory / folder).mkdir(parents=True)
        for batch in range(last + 1):
            lines = [version, metadata, *sources]
            if folder == "commits":
                lines = ["v1", json.dumps({"nextBatchWatermarkMs": 1000 * batch})]
            (directory / folder / str(batch)).write_text("\n".join(lines))
            (directory / folder / f".{batch}.crc").write_bytes(b"")
    (directory / "metadata").write_text('{"id":"one"}')
    return LocalStore(directory)


def test_a_checkpoint_says_where_its_last_batch_ended(tmp_path):
    found = read_checkpoint(written(tmp_path, offsets=11, commits=11))
    assert (found.query, found.batch, found.watermark) == ("one", 11, 11_000)
    assert found.offsets == (KAFKA,)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"offsets": 5}, "batch 5 is not committed, because the query is running or was stopped"),
        ({"offsets": 0, "commits": -1}, "batch 0 is not committed"),
        ({"offsets": -1, "commits": -1}, "batch 0 is not committed"),
        ({"version": "v2"}, "offsets/4 is of version v2, and evenkey reads v1"),
    ],
)
def test_a_checkpoint_without_a_committed_end_is_refused(tmp_path, change, says):
    with pytest.raises((ConfigurationError, RunError)) as refused:
        read_checkpoint(written(tmp_path, **change))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_directory_that_is_no_checkpoint_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="there is no checkpoint of a stream"):
        read_checkpoint(LocalStore(tmp_path))
    (tmp_path / "metadata").write_text("[")
    with pytest.raises(RunError, match=r"metadata is corrupt .* restore the checkpoint"):
        read_checkpoint(LocalStore(tmp_path))


def test_a_file_that_was_cut_off_is_named(tmp_path):
    checkpoint = written(tmp_path)
    checkpoint.put("commits/4", b"")
    with pytest.raises(RunError, match=r"commits/4 is corrupt .* restore the checkpoint"):
        read_checkpoint(checkpoint)


@pytest.mark.parametrize(
    "offset",
    [
        '{"logOffset":0}',  # files
        "12",  # rate, socket
        '{"offset":1,"timestamp":2}',  # rate per micro-batch
        '{"shard-0":{"iterator":"AFTER","sequence":1}}',
        '{"position":"7"}',
        "{}",
        "-",
        "not JSON",
    ],
)
def test_a_source_that_cannot_begin_at_a_position_is_refused(offset):
    with pytest.raises(ConfigurationError) as refused:
        start_positions("/old", (KAFKA, offset))
    assert f"source 1 of the query ended at {offset}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_positions_of_kafka_and_evenkey_are_kept():
    offsets = (KAFKA, '{"position":7}', '{"a":{"0":0},"b":{"0":3}}')
    assert start_positions("/old", offsets) == offsets


def test_a_lost_part_of_the_states_is_named(tmp_path):
    store = LocalStore(tmp_path)
    for name in (*MOVED.parts, "rebalanced/states-1/_SUCCESS"):
        store.put(name, b"")
    assert parts_of(store, MOVED.folder) == MOVED.parts
    record(store, MOVED)
    assert _complete(store) == MOVED
    store.delete(MOVED.parts[1])
    with pytest.raises(RunError, match=r"part-1\.parquet, which rebalance wrote, is gone") as lost:
        _complete(store)
    assert "\n" not in str(lost.value)


def test_a_record_is_read_as_it_was_written_and_never_replaced(tmp_path):
    store = LocalStore(tmp_path)
    assert (begun(store), find(store)) == (False, None)
    begin(store)
    assert (begun(store), find(store)) == (True, None)
    assert record(store, MOVED) == MOVED == find(store)
    assert record(store, replace(MOVED, workers=9)) == MOVED


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "record.json is corrupt"),
        (b"[]", "record.json is corrupt"),
        (b'{"format": 1}', "record.json is corrupt"),
        (b'{"format": 9}', "is of format 9 and this version of evenkey reads 1"),
    ],
)
def test_a_damaged_record_is_named(tmp_path, content, says):
    store = LocalStore(tmp_path)
    store.put("rebalanced/record.json", content)
    with pytest.raises((RunError, ConfigurationError), match=says):
        find(store)


def test_a_query_must_have_the_keys_workers_and_time_mode_of_the_state():
    types = [StringType(), LongType()]
    check_fits(MOVED, "/new", 3, types, "eventtime")
    check_fits(replace(MOVED, timers=0), "/new", 3, types, "None")
    for workers, kinds, mode, says in (
        (4, types, "EventTime", "workers = 4: rebalance made the plan in /new for 3"),
        (3, types[:1], "EventTime", "of the types string, bigint, and this query has keys of"),
        (3, types, "None", "timeMode = 'None': state /new has timers"),
    ):
        with pytest.raises(ConfigurationError) as refused:
            check_fits(MOVED, "/new", workers, kinds, mode)
        assert says in str(refused.value)


def test_an_old_query_that_runs_on_is_noticed_until_the_new_one_has_begun(tmp_path):
    checkpoint, queries = written(tmp_path / "old"), LocalStore(tmp_path / "queries")
    check_old_query(MOVED, checkpoint, queries)
    check_old_query(MOVED, LocalStore(tmp_path / "deleted"), queries)
    (tmp_path / "old/offsets/5").write_text("v1")
    with pytest.raises(ConfigurationError, match=r"run on to batch 5 .* read after batch 4"):
        check_old_query(MOVED, checkpoint, queries)
    queries.put("two.json", b"")
    check_old_query(MOVED, checkpoint, queries)
    with pytest.raises(ConfigurationError, match="has run on"):
        check_old_query(MOVED, checkpoint)


@pytest.mark.parametrize(
    ("checkpoint", "state"),
    [
        ("hdfs://nn:8020/old", "hdfs://nn:8020/state"),
        ("webhdfs://nn:9870/old", "hdfs://nn/state"),
        ("s3a://old/checkpoint", "hdfs://nn/state"),
        ("/old", "hdfs://nn/state"),
    ],
)
def test_an_old_checkpoint_on_the_server_of_the_state_may_be_read(checkpoint, state):
    check_server(store_at(checkpoint), store_at(state))


@pytest.mark.parametrize(
    ("checkpoint", "state"),
    [
        ("webhdfs://evil/old", "hdfs://nn/state"),
        ("webhdfs://nn:81/old", "hdfs://nn/state"),
        ("hdfs://evil/old", "/shared/state"),
    ],
)
def test_a_server_that_only_a_record_names_gets_no_credentials(checkpoint, state, monkeypatch):
    with pytest.raises(RunError, match=r"on another server \(http://.*set EVENKEY_WEBHDFS"):
        check_server(store_at(checkpoint), store_at(state))
    monkeypatch.setenv("EVENKEY_WEBHDFS", "http://nn:9870")
    check_server(store_at(checkpoint), store_at(state))


class Noting:
    """A state variable that notes what is written, with the client from which types are read."""

    def __init__(self, client, **schemas):
        setattr(self, client, type("Client", (), schemas)())
        self.written: list[Any] = []

    def update(self, value):
        self.written.append(value)

    put = update

    def updateValue(self, key, value):  # noqa: N802 - Spark's name
        self.written.append((key, value))


class Handle:
    """Spark's handle, as far as the processor here uses it."""

    def __init__(self):
        self.variables: dict[str, Noting] = {}
        self.timers: list[int] = []

    def getValueState(self, stateName, schema, ttlDurationMs=None):  # noqa: ARG002, N802, N803
        return self.variables.setdefault(stateName, Noting("_valueStateClient", schema=schema))

    def getListState(self, stateName, schema):  # noqa: N802, N803
        return self.variables.setdefault(stateName, Noting("_listStateClient", schema=schema))

    def getMapState(self, stateName, userKeySchema, valueSchema):  # noqa: N802, N803
        schemas = {"user_key_schema": userKeySchema, "value_schema": valueSchema}
        return self.variables.setdefault(stateName, Noting("_mapStateClient", **schemas))

    def registerTimer(self, expiry):  # noqa: N802
        self.timers.append(expiry)

    def deleteIfExists(self, stateName):  # noqa: N802, N803
        self.variables.pop(stateName, None)


LONG = StructType().add("n", LongType())
TEXT = StructType().add("text", StringType())
NAMES = {
    "seen": ("value", (LONG.simpleString(),)),
    "items": ("list", (TEXT.simpleString(),)),
    "counts": ("map", (TEXT.simpleString(), LONG.simpleString())),
}


class Declares:
    def init(self, handle):
        handle.getValueState("seen", LONG)
        handle.getListState("items", TEXT)
        handle.getMapState("counts", userKeySchema=TEXT, valueSchema=LONG)


def restored(processor, rows, variables=NAMES):
    """Restore the initial states of one key; return the handle with what was written."""
    handle = Handle()
    restoring = Restoring(processor, [(name, *rest) for name, rest in variables.items()])
    restoring.init(handle)
    for each in rows:
        restoring.handleInitialState(("ann",), each, None)
    return handle


CONTENTS = [
    (0, Row(n=5)),
    (1, [Row(text="b"), Row(text="a")]),
    (2, (Row(text="x"), Row(n=1))),
    (2, (Row(text="y"), Row(n=2))),
    (TIMER, 70_000),
]


def test_variables_and_timers_are_restored_from_pandas_and_from_rows():
    packed = [(number, pickle.dumps(content)) for number, content in CONTENTS]
    frame = pd.DataFrame([("ann", *each) for each in packed], columns=["user", "number", "content"])
    as_rows = [Row(user="ann", number=number, content=content) for number, content in packed]
    # Spark may divide the initial states of a key into several DataFrames.
    for given in ([frame], [frame[:2], frame[2:]], as_rows):
        handle = restored(Declares(), given)
        assert handle.variables["seen"].written == [(5,)]
        assert handle.variables["items"].written == [[("b",), ("a",)]]
        assert handle.variables["counts"].written == [(("x",), (1,)), (("y",), (2,))]
        assert handle.timers == [70_000]


class Forgets(Declares):
    def init(self, handle):
        handle.getValueState("seen", LONG)


class Deletes(Forgets):
    def init(self, handle):
        super().init(handle)
        for name in ("items", "counts"):
            handle.deleteIfExists(name)


class Changes(Declares):
    def init(self, handle):
        super().init(handle)
        handle.variables.pop("seen")
        handle.getValueState("seen", StructType().add("n", StringType()))


class Swaps(Declares):
    def init(self, handle):
        super().init(handle)
        handle.variables.pop("items")
        handle.getValueState("items", TEXT)


ROWS = [pd.DataFrame([(0, pickle.dumps(Row(n=5)))])]


@pytest.mark.parametrize(
    ("processor", "says"),
    [
        (Forgets(), "'items' of the old query is not declared by the processor"),
        (Changes(), "'seen' is declared as value of struct<n:string>, and in the old query it was"),
        (Swaps(), "'items' is declared as value of struct<text:string>"),
    ],
)
def test_a_variable_that_changed_is_refused(processor, says):
    with pytest.raises(ValueError, match="declare it") as refused:
        restored(processor, ROWS)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_variable_that_the_processor_deletes_is_dropped():
    assert restored(Deletes(), ROWS).variables["seen"].written == [(5,)]


def test_instants_do_not_depend_on_the_zone_of_a_worker(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        # In this zone, the hour from 2 to 3 o'clock of this night is there twice.
        instants = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)]
        local = [datetime.fromtimestamp(each.timestamp()) for each in instants]  # noqa: DTZ006 - as Spark
        assert local[0] == local[1]
        kind = StructType().add("at", TimestampType()).add("wall", TimestampNTZType())
        kind = kind.add("all", ArrayType(TimestampType()))
        kind = kind.add("by", MapType(StringType(), TimestampType()))
        pack = packing({0: kind})
        for given, instant in zip(local, instants, strict=True):
            row = Row(at=given, wall=given, all=[given, None], by={"a": given})
            found = pickle.loads(pack(0, Row(content=row)))
            assert found == (instant, given, [instant, None], {"a": instant})
        assert pickle.loads(pack(0, Row(content=None))) is None
    finally:
        monkeypatch.undo()
        time.tzset()
