"""Write the code that follows a recommendation, for the user to paste."""

from __future__ import annotations

import json
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from evenkey.aggregators import Count, Mean, Sum, parse
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import FORMATS, read_names

if TYPE_CHECKING:
    from evenkey.reports.advice.recommend import Recommendation

FRAME = "frame"
"""Value of `Setting.split` if the input is a DataFrame instead of files."""

_OWN = """\
from pyspark.sql import functions as F

# df is your DataFrame
"""
_HEAD = """\
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
df = $reader
"""
_COMBINED = """\
results = df.groupBy($keys).agg($aggregate)
results.show()
"""
_BY_KEY = """\
placed = df.repartition($workers, $keys)  # every key whole on one of $workers workers
results = placed.groupBy($keys).agg(F.count("*"))  # your own work by key, such as applyInPandas
results.show()
"""
_GROUPED = """\
results = eks.aggregate(
    df,
    key=$key,
    grouping="$grouping",
    workers=$workers,
    aggregator=$aggregator,
)
results.show()
"""
_WORK = '''\
class Work(Fold):
    """Your work on the messages of a key; this one counts them."""

    name = "work"
    columns = ()  # columns to read besides the key
    result = pa.schema([("messages", pa.int64())])
    state_type = "bigint"  # Spark's type of a state, such as zero() returns

    def zero(self):
        return 0

    def add(self, state, message):  # your work on one message: its key and its columns
        return state + 1

    def combine(self, first, second):  # two states of the same key, from two workers
        return first + second

    def answer(self, state):
        return {"messages": state}


'''


@dataclass(frozen=True)
class Setting:
    """What the advice is about: the user's files, the key, and the aggregate.

    Parameters
    ----------
    input
        Paths of the files, as the user gave them; empty for a DataFrame.
    split
        How the files are divided into messages; ``frame`` for a DataFrame.
    key
        Column or field of the key; several are separated by commas. None: the input is text.
    aggregator
        Spelling of the aggregator. None: the user's own function.
    long_records
        Whether records of the files span several lines, as quoted fields of CSV can.

    Examples
    --------
    >>> Setting(input=("clicks.csv",), split="csv", key="user").aggregator is None
    True
    """

    input: tuple[str, ...]
    split: str
    key: str | None = None
    aggregator: str | None = None
    long_records: bool = False


def check_split(split: str) -> str:
    """Return the code that reads input of a split; raise an error if there is no such code.

    Raises
    ------
    ConfigurationError
        The split is a paper's raw format, for which there is no code.
    """
    reader = FORMATS[split].reader
    if reader is None:
        known = ", ".join(name for name, form in FORMATS.items() if form.reader is not None)
        message = (
            f"split = {split!r}: must be one of {known}; for a paper's raw format use "
            "`evenkey simulate`"
        )
        raise ConfigurationError(message)
    return reader


def program_for(setting: Setting, recommendation: Recommendation) -> str:
    """Write a program that follows the recommendation, and that the user can run unchanged.

    Raises
    ------
    ConfigurationError
        There is no code to read input of this split; see `check_split`.
    """
    own_frame = setting.split == FRAME
    reader, key = "", None
    if not own_frame:
        form = FORMATS[setting.split]
        reader, key = check_split(setting.split), form.key
        if setting.long_records and form.long_reader is not None:
            reader = form.long_reader
    names = read_names(key or setting.key or "")
    keys = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    key = keys if len(names) == 1 else f"[{keys}]"
    unpacked = ", ".join(json.dumps(path, ensure_ascii=False) for path in setting.input)
    paths = unpacked if len(setting.input) == 1 else f"[{unpacked}]"
    filled = {"key": key, "keys": keys, "workers": recommendation.workers}
    filled |= {"paths": paths, "unpacked": unpacked}
    if own_frame:
        head = _OWN
    else:
        head = Template(_HEAD).substitute(reader=Template(reader).substitute(filled))
    if recommendation.combined:
        return head + Template(_COMBINED).substitute(filled, aggregate=_native(setting.aggregator))
    if recommendation.grouping is None:
        return head + Template(_BY_KEY).substitute(filled)
    if "F." not in reader:
        head = head.replace("from pyspark.sql import functions as F\n", "")
    own = setting.aggregator is None
    aggregator = "Work()" if own else json.dumps(setting.aggregator)
    grouped = Template(_GROUPED).substitute(
        filled, grouping=recommendation.grouping, aggregator=aggregator
    )
    # A user who already has a DataFrame needs no imports of Spark.
    imports, rest = ("", head.lstrip()) if own_frame else head.split("\n\n", 1)
    ours = "from evenkey import spark as eks\n"
    ours = f"import pyarrow as pa\n\n{ours}from evenkey.aggregators import Fold\n" if own else ours
    gap = "\n\n" if imports else "\n"
    return f"{ours}{imports}{gap}{f'{chr(10)}{_WORK}' if own else ''}{rest}{grouped}"


def _native(spelling: str | None) -> str:
    """Return the code that calls Spark's own function for an aggregate that Spark combines."""
    aggregator = parse(spelling or "count")
    if isinstance(aggregator, Sum | Mean):
        function = "sum" if isinstance(aggregator, Sum) else "mean"
        return f"F.{function}({json.dumps(aggregator.column, ensure_ascii=False)})"
    if isinstance(aggregator, Count):
        return 'F.count("*")'
    message = (
        f"aggregator = {spelling!r}: the program computes it by a function of Spark, which it has "
        "for count, sum(column=...) and mean(column=...) only; pass one of these"
    )
    raise ConfigurationError(message)
