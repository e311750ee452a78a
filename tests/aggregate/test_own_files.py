"""Users' own files: times, keys and values in any order, compared with plain Spark."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from evenkey import PipelineConfig, read_results
from evenkey import run as run_typed
from tests.pausing import when_running
from tests.tiers import most_in_soak

pytestmark = pytest.mark.usefixtures("spark")

START = datetime(2026, 3, 1, tzinfo=UTC)
SMALL = {"workers": 4, "sources": 3, "aggregators": 2, "epochs": 2}
LONGER = {**SMALL, "epochs": 3}
COLUMNS = ("region", "worker", "time", "count", "key", "window_start")
"""Names like evenkey's own, except the first."""
OWN = {
    "key": "region,worker",
    "time": "time",
    "aggregator": "sum(column=count)",
    "aggregator_window": 600.0,
}


def run(config, **options):
    return run_typed(config, **options)


def sales(rows=1500):
    """Return unordered rows of two hours and one of 1965; keys and amounts may be null."""
    draw = random.Random(7)  # noqa: S311 - rows of a test
    made = [
        (
            draw.choice(["EU", 'US, "CA"', None]),
            draw.choice([None, *(f"w{int(draw.paretovariate(0.8)) % 40}" for _ in range(9))]),
            START + timedelta(milliseconds=draw.randrange(7_200_000)),
            draw.choice([None, Decimal(draw.randrange(-10_000, 100_000)) / 100]),
            draw.randrange(9),
            "unused",
        )
        for _ in range(rows)
    ]
    made.append(("EU", "w1", datetime(1965, 1, 1, 12, 5, tzinfo=UTC), Decimal("1.25"), 1, ""))
    draw.shuffle(made)
    return made


def write(path, rows):
    """Write rows as CSV, JSON lines (times in milliseconds, as numbers) or Parquet."""
    if path.suffix == ".parquet":
        columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        columns["count"] = pa.array(columns["count"], pa.decimal128(12, 2))
        columns["time"] = pa.array(columns["time"], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table(columns), path, row_group_size=400)
        return
    text = io.StringIO()
    if ".csv" in path.suffixes:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for region, worker, time, count, *rest in rows:
            writer.writerow([region, worker, time.isoformat(), count, *rest])
    else:
        for region, worker, time, count, *rest in rows:
            millis = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
            amount = None if count is None else float(count)
            values = zip(COLUMNS, (region, worker, millis, amount, *rest), strict=True)
            # Some nulls are left out, as in Spark's own JSON.
            present = {k: v for k, v in values if v is not None or millis % 2}
            print(json.dumps(present), file=text)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as file:
        file.write(text.getvalue())


def plain(spark, path):
    """Return the result of Spark's own ``groupBy``: (window, key) to sum."""
    schema = (
        "region string, worker string, time {}, count decimal(12,2), key int, window_start string"
    )
    if ".csv" in path.suffixes:
        df = spark.read.csv(str(path), header=True, schema=schema.format("timestamp"), escape='"')
    elif path.suffix == ".parquet":
        df = spark.read.parquet(str(path))
    else:
        df = spark.read.json(str(path), schema=schema.format("bigint"))
        df = df.withColumn("time", F.timestamp_millis("time"))
    grouped = df.groupBy(F.window("time", "10 minutes"), "region", "worker")
    rows = grouped.agg(F.sum("count").alias("sum")).select(
        F.unix_seconds("window.start").alias("start"), "region", "worker", "sum"
    )
    return {(row.start, row.region, row.worker): row.sum for row in rows.collect()}


def found(table):
    rows = table.to_pylist()
    keyed = {
        (round(r["window_start"].replace(tzinfo=UTC).timestamp()), r["region"], r["worker"]): r[
            "sum"
        ]
        for r in rows
    }
    assert len(keyed) == len(rows)
    return keyed


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "grouping"),
    [
        ("sales.csv", "dkg"),
        ("sales.csv.gz", "kg"),
        ("sales.jsonl", "planned"),
        ("sales.parquet", "pkg"),
    ],
)
def test_results_of_a_shuffled_file_equal_sparks(spark, tmp_path, name, grouping):
    path = tmp_path / name
    write(path, sales())
    types = None if name.endswith("parquet") else "count decimal(12,2)"
    config = PipelineConfig(
        input=path, types=types, grouping=grouping, output=tmp_path / "out", **OWN, **SMALL
    )
    report = run(config)
    results = ds.dataset(report.results, partitioning="hive").to_table()
    names = ["window_start", "window_end", "region", "worker", "sum", "epoch"]
    assert results.column_names == names
    assert results.schema.field("sum").type == pa.decimal128(22, 2)
    expected = plain(spark, path)
    assert {None} < {key[1] for key in expected}
    assert found(results) == expected
    assert (report.finished, report.rejected, report.late) == (True, 0, 0)


@pytest.mark.slow(3)
def test_keys_of_parquet_keep_their_types(spark, tmp_path):
    table = pa.table(
        {
            "id": pa.array([7, -1, None, 7] * 50, pa.int32()),
            "Amount": pa.array([1.5, 2.0, float("nan"), None] * 50),
            "day": pa.array([1, 2, 3, 4] * 50, pa.int32()).cast(pa.date32()),
            "at": pa.array([0, 61, 0, 0] * 50, pa.timestamp("s")),
        }
    )
    pq.write_table(table, tmp_path / "ids.parquet")
    config = PipelineConfig(
        input=tmp_path / "ids.parquet",
        key=["id", "day"],
        time="at",
        aggregator="mean(column=Amount)",
        output=tmp_path / "out",
        **SMALL,
    )
    rows = spark.read.parquet(str(run(config).results))
    types = dict(rows.dtypes)
    assert (types["id"], types["day"], types["mean"]) == ("int", "date", "double")
    own = spark.read.parquet(str(tmp_path / "ids.parquet"))
    grouped = own.groupBy(F.window(F.col("at").cast("timestamp"), "1 minute"), "id", "day")
    expected = grouped.agg(F.avg("Amount").alias("mean")).select("id", "day", "mean")
    assert Counter(map(str, rows.select("id", "day", "mean").collect())) == Counter(
        map(str, expected.collect())
    )


@pytest.mark.slow(3)
@pytest.mark.parametrize("sink", most_in_soak(["parquet", "jsonl"], 3, slow=["jsonl"]))
def test_names_and_nested_fields_may_be_any(tmp_path, sink):
    rows = [{"user": {"id": n % 3}, "a`b": "x", "order": {"to pay": n}, "at": n} for n in range(90)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = PipelineConfig(
        input=tmp_path / "a.jsonl",
        key=["user.id", "a`b"],
        time="at",
        aggregator="sum(column=order.to pay)",
        aggregator_window=100.0,
        output=tmp_path / "out",
        sink=sink,
        **SMALL,
    )
    assert run(config).finished
    found = {(r["user.id"], r["a`b"]): r["sum"] for r in read_results(tmp_path / "out").to_pylist()}
    assert found == {(str(k), "x"): sum(range(k, 90, 3)) for k in range(3)}


@pytest.mark.soak(4)
def test_top_keys_have_their_own_names(tmp_path):
    write(tmp_path / "sales.csv", sales(300))
    options = {**OWN, "aggregator": "top-k(k=2)"}
    report = run(PipelineConfig(input=tmp_path / "sales.csv", **options, **SMALL))
    names = ["window_start", "window_end", "region", "worker", "count_", "error", "rank"]
    assert report.table.column_names == [name.rstrip("_") for name in names]
    assert set(report.table["rank"].to_pylist()) == {1, 2}


@pytest.mark.slow(3)
def test_line_ends_in_quotes_are_part_of_keys_and_of_dead_letters(tmp_path):
    keys = [f"{n % 5}\nand, {n % 3}" for n in range(300)]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("k", "n"), *((key, 2) for key in keys), ("a\n\nb", "x")])
    (tmp_path / "a.csv").write_text(text.getvalue() + '"never closed,1\nlast,4\n', newline="")
    config = PipelineConfig(
        input=tmp_path / "a.csv", key="k", count="n", output=tmp_path / "out", **SMALL
    )
    report = run(config)
    counts: Counter[str] = Counter()
    for row in read_results(tmp_path / "out").to_pylist():
        counts[row["k"]] += row["count"]
    assert counts == Counter([*keys, "last"])
    assert report.dead_letters is not None
    dead_letters = ds.dataset(report.dead_letters).to_table().to_pylist()
    assert {each["position"]: each["line"] for each in dead_letters} == {
        300: '"a\n\nb",x',
        301: '"never closed,1',
    }


MESSY = """\
when,Who?,paid
2026-01-01 10:00,ann,1
2026-01-01T11:00:00+01:00,ann,2.5
1767261600,ann,
1767261600000,ann, 3
soon,ann,4
,ann,5
2026-02-30,ann,6
2026-01-01 10:00,ann,n/a
2099-01-01,ann,7
2026-01-01 10:00,,8
2026-01-01 10:00,ann
"""


@pytest.mark.slow(3)
def test_invalid_rows_are_dead_letters_with_a_reason(tmp_path):
    (tmp_path / "messy.csv").write_text(MESSY)
    config = PipelineConfig(
        input=tmp_path / "messy.csv",
        key="Who?",
        time="when",
        aggregator="sum(column=paid)",
        output=tmp_path / "out",
        **SMALL,
    )
    report = run(config)
    (row,) = ds.dataset(report.results, partitioning="hive").to_table().to_pylist()
    at = datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert (row["window_start"], row["Who?"], row["sum"]) == (at, "ann", 6.5)
    dead_letters = ds.dataset(report.dead_letters, partitioning="hive").to_table().to_pylist()
    reasons = {each["position"]: each["reason"] for each in dead_letters}
    far = reasons.pop(8)
    assert far.startswith("its time 2099-01-01 00:00:00.000000 is further ahead")
    assert reasons == {
        4: "the time 'soon' of when is no time",
        5: "there is no time: when is empty",
        6: "the time '2026-02-30' of when is no time",
        7: "'n/a' in column paid is no double",
        9: "the key is empty",
        10: "the record's number of fields is 2, the header's is 3",
    }
    assert all(each["line"] for each in dead_letters)
    everything = run(config.with_options(max_ahead=1e10, output=None, sink="memory"))
    assert everything.rejected == report.rejected - 1


@pytest.mark.soak(4)
def test_with_lateness_late_rows_are_counted_and_windows_close_early(tmp_path):
    write(tmp_path / "sales.parquet", sorted(sales(), key=lambda row: row[2], reverse=True))
    config = PipelineConfig(input=tmp_path / "sales.parquet", lateness=0, **OWN, **LONGER)
    report = run(config)
    assert report.late > 1
    in_time = config.with_options(lateness=10**10)
    # The row of 1965 is late, because watermarks begin in 1970.
    assert run(in_time).late == 1


@pytest.mark.soak(4)
def test_a_paused_run_continues_with_the_input_that_it_found(spark, tmp_path):
    path = tmp_path / "sales.csv"
    write(path, sales())
    options = {**OWN, **LONGER, "types": "count decimal(12,2)"}
    config = PipelineConfig(input=path, output=tmp_path / "out", cost_ms=3.0, **options)
    paused = tmp_path / "out" / "state" / "paused"
    assert not run(config, on_progress=when_running(paused)).finished
    report = run(config.with_options(cost_ms=0.0))
    assert (report.finished, report.lines, report.late) == (True, 1501, 0)
    results = ds.dataset(report.results, partitioning="hive").to_table()
    assert found(results) == plain(spark, path)
