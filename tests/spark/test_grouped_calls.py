"""groupBy accepts the calls of Spark's documentation, and rejects wrong calls in one line."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
import warnings
from collections.abc import Iterator  # noqa: TC003 - Spark reads the type hints
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.sql import GroupedData
from pyspark.sql import functions as F
from pyspark.sql.functions import PandasUDFType, pandas_udf
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import StringType

from evenkey import Count, Sum
from evenkey import spark as operators
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import KeyGrouping
from evenkey.spark.groups import calls, stateful_calls
from evenkey.spark.groups.group_keys import keyed
from evenkey.spark.groups.texts import KeyTexts
from tests.spark import oracle

eks: Any = operators
WORKERS = 2


def center(pdf):
    return pdf.assign(v=pdf.v - pdf.v.mean())


def mean_of(key, pdf):
    return pd.DataFrame([(*key, pdf.v.mean())])


def above_two(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        yield batch[batch["v"] > 2.0][["v"]]


def sum_of_table(key, table):
    return pa.table({"id": [key[0].as_py()], "v": [pc.sum(table["v"]).as_py()]})


def latest_before(left, right):
    return pd.merge_asof(left, right, on="time", by="id")


@pytest.fixture(scope="module")
def frames(session):
    pairs = session.createDataFrame(
        [(1, 1.0), (1, 2.0), (2, 3.0), (2, 5.0), (2, 10.0)], "id int, v double"
    )
    sides = [(20000101, 1, 1.0), (20000101, 2, 2.0), (20000102, 1, 3.0), (20000102, 2, 4.0)]
    prices = session.createDataFrame(sides, "time int, id int, v1 double")
    labels = session.createDataFrame(
        [(20000101, 1, "x"), (20000101, 2, "y")], "time int, id int, v2 string"
    )
    people = session.createDataFrame(
        [(2012, "Java", 20000), (2012, "dotNET", 5000), (2013, "Java", 30000), (2013, None, 1)],
        "year int, course string, earnings int",
    )
    return pairs, prices, labels, people


def documented(group, frames):
    """Make the calls that the documentation of GroupedData shows, method by method."""
    pairs, prices, labels, people = frames
    with warnings.catch_warnings(action="ignore"):  # the method is deprecated, and Spark warns
        older = pandas_udf(center, "id int, v double", PandasUDFType.GROUPED_MAP)
        yield group(pairs, "id").apply(older)
    yield group(pairs, "id").applyInPandas(center, schema="id int, v double")
    yield group(pairs, "id").applyInPandas(mean_of, schema="id int, v double")
    schema = "id int, `ceil(v / 2)` long, v double"
    yield group(pairs, pairs.id, F.ceil(pairs.v / 2)).applyInPandas(mean_of, schema=schema)
    yield group(pairs, "id").applyInPandas(above_two, schema="v double")
    yield group(pairs, ["id"]).applyInArrow(sum_of_table, schema="id long, v double")
    both = group(prices, "id").cogroup(group(labels, "id"))
    yield both.applyInPandas(latest_before, "time int, id int, v1 double, v2 string")
    yield group(people, "year").agg({"*": "count", "earnings": "max"})
    yield group(people, "course").agg(F.min("earnings"), F.sum("earnings").alias("all"))
    yield group(people, people.course).count()
    yield group(people, 2).sum("earnings")
    yield group(people).avg("earnings")
    yield group(people, "year", "course").mean("earnings")
    yield group(people, "course").min("earnings", "year")
    yield group(people, "course").max("earnings", "year")
    yield group(people, "year").pivot("course").sum("earnings")
    yield group(people, "year").pivot("course", ["dotNET", "Java"]).sum("earnings")
    yield group(people).applyInPandas(lambda pdf: pdf[:1][["year"]] * 0 + len(pdf), "year int")


def texts_of(results):
    """Collect the rows of many DataFrames, by the number of the DataFrame, in one job."""
    texts = [
        df.select(F.lit(number), F.lit(df.schema.simpleString()), F.to_json(F.struct("*")))
        for number, df in enumerate(results)
    ]
    every = functools.reduce(lambda one, more: one.unionAll(more), texts)
    return sorted(map(tuple, every.collect()))


@pytest.mark.slow(12)
def test_the_documented_examples(frames):
    ours = texts_of(documented(functools.partial(eks.groupBy, workers=WORKERS), frames))
    assert ours == texts_of(documented(lambda df, *keys: df.groupBy(*keys), frames))
    assert len(ours) > 40


def test_there_is_every_method_of_spark_s():
    from pyspark.sql.connect.group import GroupedData as Remote

    for kind in (GroupedData, Remote):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_"):
                continue
            ours = inspect.signature(getattr(operators.Grouped, name)).parameters
            assert list(inspect.signature(method).parameters) == [
                each for each in ours if each not in ("merge", "merge_schema", "named")
            ], name


@pytest.mark.slow(1)
@pytest.mark.parametrize("rows", [0, 5])
def test_frames_of_few_rows(frames, rows):
    grouped = eks.groupBy(frames[0].where(f"{rows} > 0"), "id", workers=WORKERS)
    assert grouped.applyInPandas(center, "id int, v double").count() == rows
    merged = grouped.applyInPandas(center, "id int, v double", merge=lambda pdf: pdf)
    assert merged.count() == rows


@pytest.mark.slow(1)
def test_there_is_one_exchange_of_rows(frames):
    pairs, prices, labels, _ = frames
    whole = eks.groupBy(pairs, "id", workers=5)
    plan = oracle.plan_of(whole.applyInPandas(center, "id int, v double"))
    assert plan.count("Exchange hashpartitioning") == 1
    assert "__evenkey_split#" in plan.split("Exchange hashpartitioning")[1].split("REPARTITION")[0]
    assert "REPARTITION_BY_NUM" in plan
    sides = eks.groupBy(prices, "id", workers=5).cogroup(eks.groupBy(labels, "id"))
    schema = "time int, id int, v1 double, v2 string"
    plan = oracle.plan_of(sides.applyInPandas(latest_before, schema))
    assert plan.count("Exchange hashpartitioning") == 2
    assert plan.count("REPARTITION_BY_NUM") == 2


@pytest.mark.slow(1)
def test_aggregators_of_ours(frames):
    people = frames[3]
    ours = eks.groupBy(people, "course", people.year % 10, workers=WORKERS).agg(Sum("earnings"))
    own = people.groupBy("course", people.year % 10).sum("earnings")
    assert ours.columns == [*own.columns[:2], "sum"]
    total = eks.groupBy(people, "course").agg(F.max("year"), total=F.sum("earnings"))
    assert total.columns == ["course", "max(year)", "total"]
    assert sorted(map(tuple, ours.collect()), key=str) == sorted(map(tuple, own.collect()), key=str)


@pytest.mark.slow(1)
def test_several_aggregators_of_ours_by_name(frames):
    people = frames[3]
    ours = eks.groupBy(people, "course", workers=WORKERS).agg(n="count", all=Sum("earnings"))
    own = people.groupBy("course").agg(F.count("*").alias("n"), F.sum("earnings").alias("all"))
    assert ours.columns == own.columns
    assert sorted(map(tuple, ours.collect()), key=str) == sorted(map(tuple, own.collect()), key=str)


@pytest.mark.slow(1)
def test_several_aggregators_of_ours_without_names(frames):
    people = frames[3]
    asked = (Count(), Sum("earnings"), Sum("year"))
    ours = eks.groupBy(people, "course", workers=WORKERS).agg(*asked, mean="mean(column=year)")
    own = people.groupBy("course").agg(
        F.count("*").alias("count"), F.sum("earnings"), F.sum("year"), F.avg("year").alias("mean")
    )
    assert ours.columns == own.columns
    assert sorted(map(tuple, ours.collect()), key=str) == sorted(map(tuple, own.collect()), key=str)


def nothing(first, second, third, fourth):
    return first, second, third, fourth


WRONG = {
    "df = 5: it is not a Spark DataFrame": lambda _: eks.groupBy(5, "id"),
    "key = 1.5: must be a column's name": lambda df: eks.groupBy(df, 1.5),
    "key = True: must be a column's name": lambda df: eks.groupBy(df, [True]),
    "key = 'who': there is no column 'who'; there are: id, v": lambda df: eks.groupBy(
        df, "who"
    ).applyInPandas(center, "id int, v double"),
    "key = 3: the positions of the columns are 1 to 2": lambda df: eks.groupBy(df, 3).applyInPandas(
        center, "id int, v double"
    ),
    "workers = 0: there must be at least 1 worker": lambda df: eks.groupBy(df, "id", workers=0),
    "grouping = 5: must be 'auto', 'whole', 'planned' or 'spark'": lambda df: eks.groupBy(
        df, "id", grouping=5
    ),
    "grouping = 'pkg': groupBy accepts 'auto'": lambda df: eks.groupBy(df, "id", grouping="pkg"),
    "pass merge= to applyInPandas": lambda df: eks.groupBy(
        df, "id", grouping="planned", workers=2
    ).applyInPandas(center, "id int, v double"),
    "grouping = 'whole': there is no key": lambda df: eks.groupBy(
        df, grouping="whole", workers=2
    ).applyInPandas(center, "id int, v double"),
    "state = 5: must be a path": lambda df: eks.groupBy(df, "id", state=5),
    "cost = 5: must be a column of numbers": lambda df: eks.groupBy(df, "id", cost=5),
    "there is no column 'seconds'": lambda df: eks.groupBy(df, "id", cost="seconds"),
    "func = 5: must be a function of 1 or 2 arguments": lambda df: eks.groupBy(
        df, "id", workers=2
    ).applyInPandas(5, "id int"),
    "func = nothing: it takes 4 arguments and must take 1 or 2": lambda df: eks.groupBy(
        df, "id", workers=2
    ).applyInArrow(nothing, "id int"),
    "func = nothing: it takes 4 arguments and must take 2 or 3": lambda df: (
        eks.groupBy(df, "id", workers=2)
        .cogroup(eks.groupBy(df, "id"))
        .applyInPandas(nothing, "id int")
    ),
    "merge_schema = 'id int': there is no merge": lambda df: eks.groupBy(
        df, "id", workers=2
    ).applyInPandas(center, "id int, v double", merge_schema="id int"),
    "merge = 'sum': must be a function of 1 or 2 arguments, or Spark's aggregates": lambda df: (
        eks.groupBy(df, "id", workers=2).applyInPandas(center, "id int, v double", merge="sum")
    ),
    "merge_schema = 'v double': Spark's aggregates have their own types": lambda df: eks.groupBy(
        df, "id", workers=2
    ).applyInPandas(center, "id int, v double", merge=F.sum("v"), merge_schema="v double"),
    "merge= does not support; convert it to a string": lambda df: eks.groupBy(
        df.select(F.array(F.parse_json(F.lit("1"))).alias("list")), "list", workers=2
    ).applyInPandas(center, "id int", merge=center),
    "agg: two results are named 'sum(v)'; name them: agg(first=sum(": lambda df: eks.groupBy(
        df, "id"
    ).agg(Sum("v"), Sum("v")),
    "other = GroupedData": lambda df: eks.groupBy(df, "id").cogroup(df.groupBy("id")),
    "cogroup: 1 keys on one side and 2 on the other": lambda df: (
        eks.groupBy(df, "id", workers=2)
        .cogroup(eks.groupBy(df, "id", "v"))
        .applyInPandas(latest_before, "id int")
    ),
    "names that begin with '__evenkey_' are taken": lambda df: eks.groupBy(
        df.withColumn("__evenkey_split", F.lit(1)), "id", workers=2
    ).applyInPandas(center, "id int"),
    "cannot be mixed": lambda df: eks.groupBy(df, "id").agg(Sum("v"), F.sum("v")),
    "call agg for each kind, and join the results by key": lambda df: eks.groupBy(df, "id").agg(
        total=Sum("v"), own=F.sum("v")
    ),
    "evenkey aggregates by key; name one": lambda df: eks.groupBy(df).agg(Sum("v")),
    "do not use a cost per row; leave out cost": lambda df: eks.groupBy(df, "id", cost="v").agg(
        Sum("v")
    ),
    "cost: the rows of some key cost -": lambda df: eks.groupBy(
        df, "id", workers=2, cost=-F.col("v")
    ).applyInPandas(center, "id int, v double"),
}


@pytest.mark.parametrize("says", WRONG)
def test_a_wrong_call_is_refused_in_one_line(frames, says):
    with pytest.raises(ConfigurationError) as raised:
        WRONG[says](frames[0])
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_key_grouping_is_spark_s_own(frames):
    grouped = eks.groupBy(frames[0], "id", grouping=KeyGrouping(), workers=3)
    plan = oracle.plan_of(grouped.applyInPandas(center, "id int, v double"))
    assert "evenkey" not in plan
    assert "ENSURE_REQUIREMENTS" in plan


@pytest.mark.slow(2)
def test_keys_come_back_from_their_texts(session):
    rows = session.sql(
        """
        SELECT * FROM VALUES
          (1L, timestamp'9999-12-31 23:59:59.999999Z', timestamp_ntz'0001-01-01 00:00:00.000001',
           date'0001-01-01', 12345678901234567890.12345678BD, float('1e-45'), double('NaN'),
           X'00FF', 'Zoë\\n\\0"', named_struct('a', cast(null AS int), 'b', true), 'ab'),
          (-9223372036854775808L, timestamp'2025-10-26 00:30:00Z',
           timestamp_ntz'2025-03-30 02:30:00', date'9999-12-31', -0.00000001BD,
           float('-inf'), double('-0.0'), X'', '', named_struct('a', -7, 'b', null), ' '),
          (null, null, null, null, null, null, null, null, null, null, null)
        AS t(n, at, local, day, exact, small, wide, bytes, text, pair, collated)
        """
    ).withColumn("collated", F.col("collated").cast("string collate UTF8_LCASE"))
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        keys = keyed(rows, rows.columns)
        texts = KeyTexts(keys)
        spelled = texts.added_to(rows)
        assert {spelled.schema[name].dataType for name in texts.columns} == {StringType()}
        values = {name: F.col(rows.columns[n]) for name, n in texts.positions.items()}
        assert sorted(rows.columns[n] for n in texts.positions.values()) == [
            "collated",
            "n",
            "text",
        ]
        spelled = spelled.withColumns(
            {name: value.cast("string") for name, value in values.items()}  # as workers do
        )
        back = spelled.withColumns(texts.keys)
        pairs = list(zip(rows.columns, texts.keys, strict=True))
        assert [back.schema[own].dataType for _, own in pairs] == [f.dataType for f in rows.schema]
        same = [F.count_if(F.col(name).eqNullSafe(F.col(own))).alias(name) for name, own in pairs]
        (counts,) = back.agg(*same).collect()
        assert counts.asDict() == dict.fromkeys(rows.columns, 3)
    finally:
        session.conf.unset("spark.sql.session.timeZone")


ALONE = """
import pickle, sys
sys.modules["evenkey"] = None  # importing it fails
import pandas
for work in pickle.loads(sys.stdin.buffer.read()):
    rows = pandas.DataFrame({"id": [7], "own": [0]})
    sys.stdout.write(" ".join(map(str, work((1, 5), rows))) + ";")
"""


class Ids(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):  # noqa: ARG002, N802, N803
        return [key, *(list(each.columns) for each in rows)]


@pytest.mark.slow(1)
def test_workers_need_no_evenkey():
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        show = calls.shower(("own",), ("a.b",), arrow=False)
        group = calls.on_group(lambda key, pdf: [key, list(pdf.columns)], show, 1, takes_key=True)
        spell = calls.speller((), {"text": 0}, arrow=False)
        show = calls.shower(("own",), (), arrow=False)
        part = calls.on_part(lambda pdf: pdf, show, 1, spell, takes_key=False)
        state = stateful_calls.Shown(Ids(), 1, 1).handleInputRows
        works = [group, part, lambda key, rows: state(key, iter([rows]), None)]
        sent = cloudpickle.dumps(works)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    ran = subprocess.run(
        [sys.executable, "-c", ALONE], input=sent, capture_output=True, check=False
    )
    assert ran.stderr == b""
    assert ran.stdout == b"(1,) ['a.b'];id text;(1,) ['id'];"
