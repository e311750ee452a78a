"""Wrong calls of public functions and classes: one line that names the argument and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import evenkey
from evenkey import aggregators, applications, groupings, joins
from evenkey import simulation as simulator
from evenkey import spark as operators
from evenkey.core import sketches, streams
from evenkey.papers import publish_subscribe
from evenkey.reports import advice

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

# Untyped, because the arguments of these calls have wrong types.
_anything: Any = (evenkey, operators, advice, aggregators, applications, groupings)
ek, eks, adv, agg, app, gro = _anything
_more: Any = (joins, sketches, streams, simulator, publish_subscribe)
joi, ske, stre, sim, pub = _more
PANDAS = pd.DataFrame({"user": [1], "n": [1]})


@dataclass(frozen=True)
class Frames:
    """The DataFrames and the directory for the calls."""

    df: DataFrame
    static: DataFrame
    shapes: DataFrame
    stream: DataFrame
    directory: str


@pytest.fixture(scope="module")
def at(spark, tmp_path_factory):
    df = spark.range(8).selectExpr(
        "concat('u', id % 3) AS user",
        "id AS n",
        "id % 2 AS worker",
        "array(id) AS list",
        "map('a', id) AS map",
        "timestamp_seconds(id) AS at",
        "'x' AS text",
        "id / 2 AS cost",
    )
    static = spark.range(3).selectExpr("concat('u', id) AS user", "id AS place")
    shapes = spark.range(2).selectExpr("CAST('x' AS binary) AS geometry", "id AS number")
    stream = spark.readStream.format("rate").load()
    return Frames(df, static, shapes, stream, str(tmp_path_factory.mktemp("wrong")))


Wrong: TypeAlias = "list[tuple[str, Callable[[Any], Any]]]"


def expression() -> Any:
    return F.col("user")


ROUTES: Wrong = [
    ("df = pandas DataFrame: it is not a Spark", lambda _: eks.route(PANDAS, "user", "pkg", 2)),
    ("df = None: it is not a Spark", lambda _: eks.route(None, "user", "pkg", 2)),
    ("df = 'x.csv': it is not a Spark", lambda _: eks.route("x.csv", "user", "pkg", 2)),
    (
        "key = a Column: pass columns by their names",
        lambda at: eks.route(at.df, expression(), "pkg", 2),
    ),
    ("key = a Column: pass columns by", lambda at: eks.route(at.df, ["n", expression()], "pkg", 2)),
    ("key = 3: pass columns by their names", lambda at: eks.route(at.df, 3, "pkg", 2)),
    ("key = None: pass columns by their names", lambda at: eks.route(at.df, None, "pkg", 2)),
    ("name at least one", lambda at: eks.route(at.df, [], "pkg", 2)),
    ("'user' is named twice", lambda at: eks.route(at.df, ["user", "user"], "pkg", 2)),
    ("there is no column 'usr'; there are: user", lambda at: eks.route(at.df, "usr", "pkg", 2)),
    ("there is no column ''", lambda at: eks.route(at.df, "", "pkg", 2)),
    ("'map' is of type map<string,bigint>", lambda at: eks.route(at.df, "map", "pkg", 2)),
    ("did you mean 'pkg'", lambda at: eks.route(at.df, "user", "pgk", 2)),
    ("grouping = 7: must be a spelling", lambda at: eks.route(at.df, "user", 7, 2)),
    ("grouping = None", lambda at: eks.route(at.df, "user", None, 2)),
    (
        "pass an object of this class: PartialKeyGrouping(...)",
        lambda at: eks.route(at.df, "user", gro.PartialKeyGrouping, 2),
    ),
    ("has no parameter 'choice'", lambda at: eks.route(at.df, "user", "pkg(choice=2)", 2)),
    ("must be a whole number", lambda at: eks.route(at.df, "user", "pkg(choices=x)", 2)),
    (
        "workers = 2.5: must be a whole number; pass workers=2",
        lambda at: eks.route(at.df, "user", "kg", 2.5),
    ),
    (
        "workers = '4': must be a whole number; pass workers=4",
        lambda at: eks.route(at.df, "user", "kg", "4"),
    ),
    (
        "workers = 0: there must be at least 1 worker; pass workers=1 or more",
        lambda at: eks.route(at.df, "user", "kg", 0),
    ),
    ("workers = -3: there must be", lambda at: eks.route(at.df, "user", "kg", -3)),
    ("workers = True: must be", lambda at: eks.route(at.df, "user", "kg", workers=True)),
    ("workers = None: must be", lambda at: eks.route(at.df, "user", "kg", None)),
    ("workers = nan: must be", lambda at: eks.route(at.df, "user", "kg", float("nan"))),
    ("rate = 0: must be above 0", lambda at: eks.route(at.df, "user", "dkg", 2, rate=0)),
    (
        "rate = 'fast': must be a finite number",
        lambda at: eks.route(at.df, "user", "dkg", 2, rate="fast"),
    ),
    (
        "load = 'day': must be 'epoch' or 'lifetime'",
        lambda at: eks.route(at.df, "user", "dkg", 2, load="day"),
    ),
    ("time = Column", lambda at: eks.route(at.df, "user", "dkg", 2, time=expression())),
    (
        "time: column 'text' is of type string",
        lambda at: eks.route(at.df, "user", "dkg", 2, time="text"),
    ),
    (
        "time = 'when': there is no column",
        lambda at: eks.route(at.df, "user", "dkg", 2, time="when"),
    ),
    ("there is a column 'worker' already", lambda at: eks.route(at.df, "user", "kg", 2)),
    ("column = '': the new column needs", lambda at: eks.route(at.df, "user", "kg", 2, column="")),
    (
        "real_time = True: df is a batch",
        lambda at: eks.route(at.df, "user", "kg", 2, column="w", real_time=True),
    ),
    ("key = 'user': only by='split' uses a key", lambda at: eks.place(at.df, 2, key="user")),
    (
        "grouping = 'nope': groupBy accepts 'auto', 'whole', 'planned' or 'spark'; pass one",
        lambda at: eks.groupBy(at.df, "user", grouping="nope"),
    ),
    (
        "by = 'map' is of type map<string,bigint>",
        lambda at: eks.partition_for_write(at.df, "map", 2),
    ),
    (
        "there is no column 'x'; there are: user, n",
        lambda at: eks.route(
            at.df.select("user", "n").withColumn("__worker", F.lit(1)), "x", "kg", 2
        ),
    ),
    ("config = None: pass a PipelineConfig(...)", lambda _: ek.run(None)),
    ("PipelineConfig(**options) makes one from a dict", lambda _: ek.run({"dataset": "uniform"})),
    ("config = None: pass a PipelineConfig(...)", lambda _: ek.compare(None, ["kg"])),
    ("config = {}: pass a JoinConfig(...)", lambda _: pub.run_join({})),
    (
        "workers = '8': must be a whole number",
        lambda _: ek.PipelineConfig(dataset="uniform(keys=5)", workers="8"),
    ),
    (
        "rate = '8': must be a number",
        lambda _: ek.PipelineConfig(dataset="uniform(keys=5)", rate="8"),
    ),
    (
        "no column 'nope': the DataFrame has user, n",
        lambda at: adv.advise(at.df, "user", [2], aggregator="sum(column=nope)"),
    ),
    ("column = 5: must be text", lambda at: eks.route(at.df, "user", "kg", 2, column=5)),
    ("state = 5: must be a path", lambda at: eks.route(at.df, "user", "dkg", 2, state=5)),
    (
        "how frequent each key is before the first row of a stream comes: first route a batch",
        lambda at: eks.route(at.stream, "value", "off-greedy", 2),
    ),
    (
        "position: column 'text' is of type string",
        lambda at: eks.route(at.df, "user", "planned", 2, position="text", column="w"),
    ),
]
OPERATORS: Wrong = [
    ("df = pandas DataFrame", lambda _: eks.place(PANDAS, 2)),
    ("workers = '2': must be a whole number", lambda at: eks.place(at.df, "2")),
    ("by = 'key': must be 'partition' or 'split'", lambda at: eks.place(at.df, 2, by="key")),
    ("by = 'split': it needs key=...", lambda at: eks.place(at.df, 2, by="split")),
    ("column = 'slot': there is no column", lambda at: eks.place(at.df, 2, column="slot")),
    ("observer = None: pass a LoadObserver", lambda at: eks.observe(at.df, None)),
    ("observer = the class LoadObserver", lambda at: eks.observe(at.df, eks.LoadObserver)),
    ("df = pandas DataFrame", lambda _: eks.observe(PANDAS, eks.LoadObserver(2))),
    ("key = a Column", lambda at: eks.observe(at.df, eks.LoadObserver(2), key=expression())),
    ("workers = 2.5: must be", lambda _: eks.LoadObserver(2.5)),
    (
        "df = pandas DataFrame",
        lambda at: eks.fit(PANDAS, "user", "planned", 2, state=at.directory),
    ),
    (
        "fit makes plans for 'planned' and 'whole' only",
        lambda at: eks.fit(at.df, "user", "kg", 2, state=at.directory),
    ),
    (
        "workers = 1.5: must be",
        lambda at: eks.fit(at.df, "user", "planned", 1.5, state=at.directory),
    ),
    ("state = None: must be a path", lambda at: eks.fit(at.df, "user", "planned", 2, state=None)),
    (
        "fraction = 2: must be above 0 and at most 1",
        lambda at: eks.fit(at.df, "user", "planned", 2, state=at.directory, fraction=2),
    ),
    (
        "fraction = 'half': must be",
        lambda at: eks.fit(at.df, "user", "planned", 2, state=at.directory, fraction="half"),
    ),
    (
        "cost: column 'text' is of type string",
        lambda at: eks.fit(at.df, "user", "planned", 2, state=at.directory, cost="text"),
    ),
    (
        "fit counts a batch",
        lambda at: eks.fit(at.stream, "value", "planned", 2, state=at.directory),
    ),
    ("place = 3: must be a path", lambda _: eks.RoutingTables(3, "dkg", 2)),
    ("df = builtins list", lambda _: eks.aggregate([1], "user", "pkg", 2)),
    ("key = a Column", lambda at: eks.aggregate(at.df, expression(), "pkg", 2)),
    ("'list' is of type array<bigint>", lambda at: eks.aggregate(at.df, "list", "pkg", 2)),
    ("did you mean 'count'", lambda at: eks.aggregate(at.df, "user", "pkg", 2, "cuont")),
    ("aggregator = 5: must be a spelling", lambda at: eks.aggregate(at.df, "user", "pkg", 2, 5)),
    (
        "pass an object of this class: Count(...)",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, ek.Count),
    ),
    (
        "needs column: write sum(column=...)",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, "sum"),
    ),
    ("there is no column 'm'", lambda at: eks.aggregate(at.df, "user", "pkg", 2, ek.Sum("m"))),
    (
        "column 'text' is of type string",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, ek.Sum("text")),
    ),
    (
        "window = '1 minute' needs time=",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, window="1 minute"),
    ),
    (
        "window = 60: must be text",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, time="at", window=60),
    ),
    (
        "window = 'soon': must be a duration",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, time="at", window="soon"),
    ),
    (
        "watermark = None: must be text",
        lambda at: eks.aggregate(at.df, "user", "pkg", 2, watermark=None),
    ),
    ("a stream is aggregated in windows", lambda at: eks.aggregate(at.stream, "value", "pkg", 2)),
]
CLASSES: Wrong = [
    ("pkg: choices = 0: must be at least 1 choice", lambda _: gro.PartialKeyGrouping(0)),
    ("pkg: choices = 2.0: must be a whole number", lambda _: gro.PartialKeyGrouping(2.0)),
    ("pkg: choices = '2': must be a whole number", lambda _: gro.PartialKeyGrouping("2")),
    (
        "pkg: variant = 'flink': must be 'storm' or 'paper'",
        lambda _: gro.PartialKeyGrouping(variant="flink"),
    ),
    ("dkg: warm_up = 'long': must be a number", lambda _: gro.DynamicKeyGrouping(warm_up="long")),
    ("dkg: largest_pool = 2.5", lambda _: gro.DynamicKeyGrouping(largest_pool=2.5)),
    ("dkg: scale_in = 'x': must be", lambda _: gro.DynamicKeyGrouping(scale_in="x")),
    ("planned: planning = 'soon': must be", lambda _: gro.PlannedGrouping(planning="soon")),
    ("planned: buckets = 3", lambda _: gro.PlannedGrouping(buckets=3)),
    ("planned: decay = nan: must be a number", lambda _: gro.PlannedGrouping(decay=float("nan"))),
    ("capacities = 5: give one number", lambda _: gro.PlannedGrouping(capacities=5)),
    ("dchoices: threshold = '1': must be", lambda _: gro.DChoices(threshold="1")),
    ("wchoices: decay = None: must be a number", lambda _: gro.WChoices(decay=None)),
    ("grouping = 3: must be a spelling", lambda _: gro.parse(3)),
    ("workers = 2.5: must be", lambda _: gro.KeyGrouping().router(2.5)),
    ("source = -1: must be at least 0", lambda _: gro.KeyGrouping().router(2, -1)),
    ("source = 'a': must be", lambda _: gro.KeyGrouping().router(2, "a")),
    (
        "does not use key frequencies",
        lambda _: gro.KeyGrouping().plan(np.arange(2), np.arange(2), 2),
    ),
    ("sum: column = 5: must be text", lambda _: ek.Sum(5)),
    ("mean: column = Column", lambda _: ek.Mean(expression())),
    ("tally: column = None: must be text", lambda _: agg.Tally(None)),
    ("top-k: k = '5': must be a whole number; pass k=5", lambda _: agg.TopK("5")),
    ("top-k: k = 0: there must be at least 1 key", lambda _: agg.TopK(0)),
    ("top-k: capacity = 1.5: must be", lambda _: agg.TopK(1, 1.5)),
    ("heavy-hitters: choices = 'all'", lambda _: agg.HeavyHitters(choices="all")),
    ("heavy-hitters: weight = 3: must be text", lambda _: agg.HeavyHitters(weight=3)),
    ("histogram: bins = 2.5: must be", lambda _: agg.Histogram("n", bins=2.5)),
    ("histogram: parts = 0", lambda _: agg.Histogram("n", parts=0)),
    ("aggregator = the class Sum: pass an object", lambda _: agg.parse(ek.Sum)),
    (
        "have no column 'n'; they have: key",
        lambda _: ek.Sum("n").bind(pa.schema([("key", pa.string())])),
    ),
    ("capacity = 'x'", lambda _: ske.SpaceSaving("x")),
    ("capacity = 0", lambda _: ske.SpaceSaving(0)),
    ("bins = 1.5: must be a whole", lambda _: ske.ApproximateHistogram(1.5)),
    ("bins = 1: must be from 2 to", lambda _: ske.ApproximateHistogram(1)),
    (
        "DynamicDistributor: threshold = 'high': must be a number",
        lambda _: joi.DynamicDistributor(threshold="high"),
    ),
    ("distributor: period = 0: must be above 0", lambda _: joi.DynamicDistributor(period=0)),
    (
        "distributor: planner = 'greedy': must be a function",
        lambda _: joi.DynamicDistributor(planner="greedy"),
    ),
    ("DynamicDistributor: forced = 3: must be a tuple", lambda _: joi.DynamicDistributor(forced=3)),
    ("did you mean 'intersects'", lambda _: joi.SpatialMatch(relation="intersect")),
    ("SpatialMatch: geometry = 5: must be text", lambda _: joi.SpatialMatch(geometry=5)),
    ("SpatialMatch: pipeline = 'fast': must be", lambda _: joi.SpatialMatch(pipeline="fast")),
    ("place = 5: must be a path", lambda _: joi.StaticStore(5)),
    ("zipf: keys = 2.5: must be a whole number", lambda _: stre.Zipf(1.0, 2.5)),
    ("zipf: messages = 'many': must be", lambda _: stre.Zipf(1.0, 10, messages="many")),
    ("5 cannot be read: write name", lambda _: stre.generated(5)),
]
APPLICATIONS: Wrong = [
    ("naive-bayes: alpha = '1': must be a number", lambda _: app.NaiveBayes("1")),
    ("naive-bayes: alpha = 0: must be above 0", lambda _: app.NaiveBayes(0)),
    ("decision-tree: max_depth = 2.5", lambda _: app.DecisionTree(max_depth=2.5)),
    (
        "decision-tree: criterion = 'best': must be",
        lambda _: app.DecisionTree(criterion="best"),
    ),
    ("documents: classes = '2'", lambda _: app.Documents("2")),
    ("clusters: spread = None", lambda _: app.Clusters(spread=None)),
    (
        "learner = 'naive-bayes': pass a Learner",
        lambda at: app.train(at.df, "naive-bayes"),
    ),
    (
        "learner = the class NaiveBayes: pass",
        lambda at: app.train(at.df, app.NaiveBayes),
    ),
    ("df = pandas DataFrame", lambda _: app.train(PANDAS, app.NaiveBayes())),
    ("there is no column 'label'", lambda at: app.train(at.df, app.NaiveBayes())),
    (
        "passes = 1.5: must be",
        lambda at: app.train(at.df, app.NaiveBayes(), passes=1.5),
    ),
    ("train() reads batches", lambda at: app.train(at.stream, app.NaiveBayes())),
    ("learner = 5: pass a Learner", lambda _: app.InProcess(5, "kg", 2)),
    ("workers = '2'", lambda _: app.InProcess(app.NaiveBayes(), "kg", "2")),
    ("model = None: pass a model that train()", lambda at: app.classify(at.df, None)),
    ("df = None", lambda _: app.classify(None, app.NaiveBayes().start())),
    (
        "there is a column 'text' already",
        lambda at: app.classify(at.df, app.NaiveBayes().start(), column="text"),
    ),
    (
        "model = 5: pass a model of naive Bayes",
        lambda at: app.classify_by_words(at.df, "user", "text", 5),
    ),
    (
        "document = a Column",
        lambda at: app.classify_by_words(at.df, expression(), "text", app.NaiveBayes().start()),
    ),
    ("df = pandas DataFrame", lambda _: app.heavy_hitters(PANDAS, "user")),
    ("key = a Column", lambda at: app.heavy_hitters(at.df, expression())),
    (
        "through = 'sql': must be",
        lambda at: app.heavy_hitters(at.df, "user", through="sql"),
    ),
    ("heavy-hitters: k = 2.5", lambda at: app.heavy_hitters(at.df, "user", 2.5)),
    ("workers = '2'", lambda at: app.heavy_hitters(at.df, "user", workers="2")),
    (
        "key = 'rank': the result of",
        lambda at: app.heavy_hitters(at.df.withColumnRenamed("user", "rank"), "rank"),
    ),
    ("unknown application 'word-count'", lambda _: app.parse("word-count")),
    ("application = 5", lambda _: app.parse(5)),
    ("config = 5: pass a PipelineConfig", lambda _: app.run(5)),
    ("workers = 0", lambda _: sim.simulate(stre.generated("zipf(z=1,keys=9)"), "kg", workers=0)),
    (
        "workers = 2.5",
        lambda _: sim.simulate(stre.generated("zipf(z=1,keys=9)"), "kg", workers=2.5),
    ),
    ("stream = 'zipf': pass a stream", lambda _: sim.simulate("zipf", "kg", workers=2)),
    (
        "sources = '2'",
        lambda _: sim.simulate(stre.generated("zipf(z=1,keys=9)"), "kg", workers=2, sources="2"),
    ),
    ("sample = 'x'", lambda _: adv.sampled("x", [], "x")),
    (
        "workers = [0]",
        lambda _: adv.advise(
            adv.Sample.take(stre.generated("zipf(z=1,keys=9)", messages=9)),
            adv.Setting(input=("x",), split="lines"),
            [0],
        ),
    ),
    (
        "workers = 4.5",
        lambda _: adv.advise(
            adv.Sample.take(stre.generated("zipf(z=1,keys=9)", messages=9)),
            adv.Setting(input=("x",), split="lines"),
            4.5,
        ),
    ),
]
JOINS: Wrong = [
    ("stream = pandas DataFrame", lambda at: joi.balanced_join(PANDAS, at.static, "user")),
    ("static = pandas DataFrame", lambda at: joi.balanced_join(at.df, PANDAS, "user")),
    ("on = a Column", lambda at: joi.balanced_join(at.df, at.static, expression())),
    (
        "on = a Column",
        lambda at: joi.balanced_join(at.df, at.static, at.df["user"] == at.static["user"]),
    ),
    ("on = None", lambda at: joi.balanced_join(at.df, at.static, None)),
    ("on = 'usr': there is no column", lambda at: joi.balanced_join(at.df, at.static, "usr")),
    ("on = 'place': there is no column", lambda at: joi.balanced_join(at.df, at.static, "place")),
    (
        "how = 'outer': must be 'inner' or 'left'",
        lambda at: joi.balanced_join(at.df, at.static, "user", "outer"),
    ),
    ("workers = '8'", lambda at: joi.balanced_join(at.df, at.static, "user", workers="8")),
    ("workers = 0", lambda at: joi.balanced_join(at.df, at.static, "user", workers=0)),
    (
        "balance = 'data': must be 'load' or 'rows' or None",
        lambda at: joi.balanced_join(at.df, at.static, "user", balance="data"),
    ),
    (
        "cache_static = 1: must be True or False",
        lambda at: joi.balanced_join(at.df, at.static, "user", cache_static=1),
    ),
    (
        "partitions = 2.5: must be",
        lambda at: joi.balanced_join(at.df, at.static, "user", partitions=2.5),
    ),
    (
        "partitions = 2: 8 workers need",
        lambda at: joi.balanced_join(at.df, at.static, "user", partitions=2),
    ),
    (
        "state = 5: must be a path",
        lambda at: joi.balanced_join(at.df, at.static, "user", state=5),
    ),
    (
        "time: column 'text' is of type",
        lambda at: joi.balanced_join(at.df, at.static, "user", time="text"),
    ),
    (
        "distributor = 'x': pass a",
        lambda at: joi.balanced_join(at.df, at.static, "user", distributor="x"),
    ),
    (
        "cache_bytes = 'x': must be",
        lambda at: joi.balanced_join(at.df, at.static, "user", cache_bytes="x"),
    ),
    (
        "geometry = 'geometry': there is no column",
        lambda at: joi.balanced_join(at.df, at.shapes, joi.SpatialMatch()),
    ),
    (
        "'user' is string: geometries must be",
        lambda at: joi.balanced_join(at.df, at.static, joi.SpatialMatch("user")),
    ),
    (
        "static is a stream",
        lambda at: joi.balanced_join(at.df.withColumnRenamed("n", "value"), at.stream, "value"),
    ),
    (
        "columns N are on both sides",
        lambda at: joi.balanced_join(at.df, at.static.withColumnRenamed("place", "N"), "user"),
    ),
    ("static = pandas DataFrame", lambda at: joi.refresh(PANDAS, at.directory)),
    ("state = None: must be a path", lambda at: joi.refresh(at.static, None)),
]
DIVIDED: Wrong = [
    ("left = pandas DataFrame: it is not a Spark", lambda at: eks.join(PANDAS, at.static, "user")),
    ("right = None: it is not a Spark", lambda at: eks.join(at.df, None, "user")),
    (
        ": Spark cannot join on this (",
        lambda at: eks.join(at.df, at.static, expression()),
    ),
    ("on = None: pass columns by", lambda at: eks.join(at.df, at.static, None)),
    ("on = []: no on column", lambda at: eks.join(at.df, at.static, [])),
    ("on = 'n': there is no column 'n'; there are: user, place", lambda at: _join(at, "n")),
    ("on = 'place': there is no column 'place'", lambda at: _join(at, "place")),
    ("how = 'outter': must be", lambda at: _join(at, how="outter")),
    ("how = 'cross': a cross join has no key", lambda at: _join(at, how="cross")),
    ("how = 3: must be text; pass how='inner'", lambda at: _join(at, how=3)),
    ("workers = 0: there must be at least 1 worker", lambda at: _join(at, workers=0)),
    ("workers = 2.5: must be a whole number", lambda at: _join(at, workers=2.5)),
    ("weigh = 'bytes': must be 'output' or 'rows'", lambda at: _join(at, weigh="bytes")),
    ("state = 5: must be a path", lambda at: _join(at, state=5)),
    ("exact = 'yes': must be True or False", lambda at: _join(at, exact="yes")),
    (
        "exact = 'yes': must be True or False",
        lambda at: eks.partition_for_write(at.df, "user", 2, exact="yes"),
    ),
    ("exact = 'yes': must be True or False", lambda at: eks.groupBy(at.df, "user", exact="yes")),
    (
        "column '__evenkey_split': names that begin with '__evenkey_' are taken; rename it",
        lambda at: eks.join(at.df.withColumn("__evenkey_split", F.lit(1)), at.static, "user"),
    ),
    (
        "left and right are streams: evenkey joins a stream with a batch",
        lambda at: eks.join(at.stream, at.stream, "value"),
    ),
    (
        "how = 'full': Spark has no such join with a stream on the left",
        lambda at: eks.join(at.stream, _values(at), "value", "full"),
    ),
    (
        "how = 'semi': Spark has no such join with a stream on the right",
        lambda at: eks.join(_values(at), at.stream, "value", "semi"),
    ),
    ("df = pandas DataFrame", lambda _: eks.partition_for_write(PANDAS, "user", 2)),
    ("by = 'usr': there is no column", lambda at: eks.partition_for_write(at.df, "usr", 2)),
    ("'map' is of type map", lambda at: eks.partition_for_write(at.df, "map", 2)),
    ("files = 0: must be at least 1", lambda at: eks.partition_for_write(at.df, "user", 0)),
    ("files = '8': must be a whole", lambda at: eks.partition_for_write(at.df, "user", "8")),
    (
        "call partition_for_write in foreach",
        lambda at: eks.partition_for_write(at.stream, "value", 2),
    ),
]


def _join(at: Frames, on: str = "user", **options: Any) -> Any:
    return eks.join(at.df, at.static, on, **options)


def _values(at: Frames) -> DataFrame:
    return at.static.withColumnRenamed("place", "value")


EVERY = [*ROUTES, *OPERATORS, *CLASSES, *APPLICATIONS, *JOINS, *DIVIDED]


@pytest.mark.parametrize(
    ("says", "call"),
    [pytest.param(*each, id=f"{n}-{each[0][:40]}") for n, each in enumerate(EVERY)],
)
def test_a_wrong_call_is_reported_in_one_line(at, says, call):
    with pytest.raises(ek.ConfigurationError) as raised:
        call(at)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 500
    assert says in message


def test_there_are_enough_of_them():
    assert len(EVERY) >= 90
