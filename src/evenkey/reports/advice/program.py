"""The code to paste: what was recommended, on the user's own files."""

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
"""The split of a DataFrame that the user has already."""

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
    columns = ()  # columns that it reads besides the key
    result = pa.schema([("messages", pa.int64())])
    state_type = "bigint"  # of what zero() gives, as Spark writes it

    def zero(self):
        return 0

    def add(self, state, message):  # your work on one message: its key and its columns
        return state + 1

    def combine(self, first, second):  # of the same key, from two workers
        return first + second

    def answer(self, state):
        return {"messages": state}


'''


@dataclass(frozen=True)
class Setting:
    """Whose advice it is: the user's files, their key, and what is computed.

    Parameters
    ----------
    input
        Paths, as the user gave them.
    split
        How messages are found in them; or frame, where there are no files but a DataFrame.
    key
        Column or field of the key, several with commas between; None for text.
    aggregator
        Spelling of what is computed by key; None is work of the user's own.
    long_records
        Whether records of the files run over several lines, as quoted fields of CSV can.

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
    """Make sure that there is code to read such input with, and give it.

    Raises
    ------
    ConfigurationError
        There is none: a paper's raw format.
    """
    reader = FORMATS[split].reader
    if reader is None:
        known = ", ".join(name for name, form in FORMATS.items() if form.reader is not None)
        message = (
            f"split = {split!r}: advice is on {known}; simulate a paper's raw format with "
            "`evenkey simulate`"
        )
        raise ConfigurationError(message)
    return reader


def program_for(setting: Setting, recommendation: Recommendation) -> str:
    """Write a program that does as recommended; it runs as it is where the input is found.

    Raises
    ------
    ConfigurationError
        As `check_split`.
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
    # Nothing is left to import of Spark where the DataFrame is there already.
    imports, rest = ("", head.lstrip()) if own_frame else head.split("\n\n", 1)
    ours = "from evenkey import spark as eks\n"
    ours = f"import pyarrow as pa\n\n{ours}from evenkey.aggregators import Fold\n" if own else ours
    gap = "\n\n" if imports else "\n"
    return f"{ours}{imports}{gap}{f'{chr(10)}{_WORK}' if own else ''}{rest}{grouped}"


def _native(spelling: str | None) -> str:
    """Spark's own function for an aggregate that it combines."""
    aggregator = parse(spelling or "count")
    if isinstance(aggregator, Sum | Mean):
        function = "sum" if isinstance(aggregator, Sum) else "mean"
        return f"F.{function}({json.dumps(aggregator.column, ensure_ascii=False)})"
    if isinstance(aggregator, Count):
        return 'F.count("*")'
    message = f"aggregator = {spelling!r}: it has no function of Spark's own"
    raise ConfigurationError(message)
