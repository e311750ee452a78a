"""Find the operators of a Spark plan that read a keyed shuffle, and the work that they do.

A plan is cut at its shuffles: the operators between two shuffles form one stage. Each operator that
reads rows by key from shuffles (exchanges), such as a join or a function on groups, becomes one
`KeyedRead`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.reports.diagnosis.reading import limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RECORDS_READ = "records read"
"""Metric of an exchange: the number of rows that the tasks after the exchange read."""

RECORDS_WRITTEN = "shuffle records written"
"""Metric of an exchange: the number of rows that the tasks before the exchange wrote."""

DATA_SIZE = "data size"
"""Metric of an exchange: the number of bytes of the rows that were written, before compression."""

OUTPUT_ROWS = "number of output rows"

_PARTITIONING = re.compile(r"hashpartitioning\((?P<keys>.*), (?P<partitions>\d+)\)(?P<rest>.*)")
_ORIGIN = re.compile(r"\b(ENSURE_REQUIREMENTS|REPARTITION_BY_\w+|REBALANCE_\w+)\b")
_NUMBER_OF_COLUMN = re.compile(r"#\d+L?")
_JOIN_TYPE = re.compile(
    r"\b(Inner|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|ExistenceJoin\S*)\b"
)
_WRAPPERS = (
    "AdaptiveSparkPlan",
    "ShuffleQueryStage",
    "ResultQueryStage",
    "AQEShuffleRead",
    "CustomShuffleReader",
    "InputAdapter",
    "WholeStageCodegen",
    "Project",
    "Filter",
    "Sort",
    "ColumnarToRow",
    "RowToColumnar",
    "SerializeFromObject",
    "DeserializeToObject",
    "AppendColumns",
)
_OF_STREAMS = ("MicroBatchScan", "StateStore", "RealTimeStreamScan", "WithState", "Streaming")
_SCANS = ("Scan ", "FileScan", "BatchScan")
_METRICS = "CollectMetrics"
_CUTS = ("BroadcastExchange", "BroadcastQueryStage", "Subquery", "ReusedSubquery")


@dataclass(frozen=True)
class Node:
    """An operator of a plan.

    Parameters
    ----------
    name, text
        Name of the operator, and the line that Spark prints for it.
    children
        The operators from which this operator reads rows.
    counters
        Accumulator ids of the operator's metrics, by the name of the metric.
    """

    name: str
    text: str
    children: tuple[Node, ...] = ()
    counters: Mapping[str, int] | None = None

    def counter(self, name: str) -> int | None:
        """Return the accumulator id of a metric; None if the operator does not have the metric."""
        return (self.counters or {}).get(name)


def node_of(info: Mapping[str, Any], depth: int = 1) -> Node:
    """Make a plan from the ``sparkPlanInfo`` of an event.

    Raises
    ------
    ValueError, TypeError, KeyError, AttributeError, OverflowError
        `info` is not a plan, or is deeper than `limits.PLAN_DEPTH`.
    """
    if depth > limits.PLAN_DEPTH:
        message = (
            f"Spark's query plan has more than {limits.PLAN_DEPTH} operators one below the other"
        )
        raise ValueError(message)
    children = []
    for child in info.get("children", ()):
        children.append(node_of(child, depth + 1))  # noqa: PERF401 - a comprehension nests deeper
    return Node(
        limits.text(info.get("nodeName", "")).strip(),
        limits.text(info.get("simpleString", "")).strip(),
        tuple(children),
        {
            limits.text(each["name"]): limits.whole(each["accumulatorId"])
            for each in info.get("metrics", ())
        },
    )


@dataclass(frozen=True)
class Exchange:
    """A shuffle by the hash of keys, which one operator reads.

    Parameters
    ----------
    keys
        Columns or expressions of the key, without Spark's column ids.
    partitions
        Number of partitions.
    origin
        Why Spark planned the exchange: ``ENSURE_REQUIREMENTS``, or ``REPARTITION_...`` if the
        user's code requests it.
    combined
        Whether an aggregate before the exchange leaves one row per key and task.
    adaptive
        How adaptive execution changed the partitions: any of ``coalesced``, ``skewed``, ``local``.
    counter, written, size
        Accumulator ids that count the rows read from the exchange, and the rows and bytes written
        to it. None: unknown.
    nullable
        Whether the first key can be null. False: a filter before the exchange leaves out nulls.
    observed
        Name of the metrics that Spark collects of exactly the rows that are written, if any.
    """

    keys: tuple[str, ...]
    partitions: int
    origin: str
    combined: bool
    adaptive: tuple[str, ...]
    counter: int | None
    written: int | None = None
    size: int | None = None
    nullable: bool = True
    observed: str | None = None


@dataclass(frozen=True)
class KeyedRead:
    """An operator and the keyed exchanges that it reads; or a scan, which reads no exchange.

    Parameters
    ----------
    operator, text
        Name of the operator, and the line that Spark prints for it.
    exchanges
        The exchanges that the operator reads: one, or one for each side of a join, in order. Empty
        for a scan of files.
    alone
        Whether all tasks of the stage do this work. False if, for example, the stage has a union.
    output
        Accumulator id that counts the operator's output rows. None: unknown.
    """

    operator: str
    text: str
    exchanges: tuple[Exchange, ...]
    alone: bool
    output: int | None

    @property
    def join_type(self) -> str | None:
        """Type of the join, such as ``Inner`` or ``LeftOuter``; None if there is no join."""
        found = _JOIN_TYPE.search(self.text) if "Join" in self.operator else None
        return found[1] if found else None

    @property
    def signature(self) -> tuple[object, ...]:
        """A value that is the same in all runs of one plan."""
        by = tuple((each.keys, each.partitions, each.origin) for each in self.exchanges)
        return self.operator, self.join_type, by


def keyed_reads(plan: Node) -> list[KeyedRead]:
    """Find the operators that read keyed exchanges, in the order of the plan from its root."""
    reads = []
    originals = {node.text: node for node in _all(plan) if _is_exchange(node)}
    for root in _roots(plan):
        found = list(_reads(root, None, ()))
        readers = {id(reader): reader for reader, *_ in found}
        for reader in readers.values():
            sides = [(way, node) for by, way, node in found if by is reader]
            exchanges = [_exchange(way, _original(node, originals)) for way, node in sides]
            keyed = tuple(each for each in exchanges if each is not None)
            if keyed:
                alone = len(readers) == 1
                reads.append(
                    KeyedRead(reader.name, reader.text, keyed, alone, reader.counter(OUTPUT_ROWS))
                )
    return reads


def scans(plan: Node) -> list[KeyedRead]:
    """Find the operators that read files or tables, in the order of the plan from its root."""
    return [
        KeyedRead(node.name, node.text, (), alone=True, output=node.counter(OUTPUT_ROWS))
        for node in _all(plan)
        if node.name.startswith(_SCANS)
    ]


def is_streaming(plan: Node) -> bool:
    """Return whether a plan is the plan of a stream's epoch; batches inside an epoch are not."""
    return any(each in node.name for node in _all(plan) for each in _OF_STREAMS)


def shape_of(plan: Node) -> tuple[str, ...]:
    """Return the names of a plan's operators, without wrappers such as ``WholeStageCodegen``."""
    return tuple(node.name for node in _all(plan) if not _is_wrapper(node))


def _all(plan: Node) -> Iterator[Node]:
    yield plan
    for child in plan.children:
        yield from _all(child)


def _original(node: Node, originals: Mapping[str, Node]) -> Node:
    """Return the original exchange if `node` reuses one: its line ends with the original's line."""
    for text, original in originals.items():
        if node.text.endswith(text):
            return original
    return node


def _roots(plan: Node) -> Iterator[Node]:
    """Yield the top operator of each stage: the root, and the child of each shuffle."""
    yield plan
    for node in _all(plan):
        if _is_exchange(node) or node.name.startswith(_CUTS):
            yield from node.children


def _reads(
    node: Node, reader: Node | None, way: tuple[Node, ...]
) -> Iterator[tuple[Node, tuple[Node, ...], Node]]:
    """Yield (reader, operators in between, shuffle) for each shuffle below an operator."""
    for child in node.children:
        if node.name.startswith(_CUTS):
            return
        passed = _is_wrapper(node)
        nearest = reader if passed and reader is not None else node
        between = (*way, node) if passed else ()
        if _is_exchange(child) or child.name.startswith("ReusedExchange"):
            yield nearest, between, child
        else:
            yield from _reads(child, nearest, between)


def _is_wrapper(node: Node) -> bool:
    return node.name.partition(" ")[0] in _WRAPPERS


def _is_exchange(node: Node) -> bool:
    return node.name == "Exchange" or node.name.startswith("Exchange ")


def _exchange(way: tuple[Node, ...], node: Node) -> Exchange | None:
    found = _PARTITIONING.search(node.text)
    if found is None:
        return None
    origin = _ORIGIN.search(found["rest"])
    notes = " ".join(
        each.text for each in way if each.name.startswith(("AQEShuffleRead", "CustomShuffle"))
    )
    return Exchange(
        tuple(split_keys(found["keys"])),
        int(found["partitions"]),
        origin[1] if origin else "ENSURE_REQUIREMENTS",
        any(map(_combines, node.children)),
        tuple(each for each in ("coalesced", "skewed", "local") if each in notes),
        node.counter(RECORDS_READ),
        node.counter(RECORDS_WRITTEN),
        node.counter(DATA_SIZE),
        nullable=not _without_nulls(node, found["keys"]),
        observed=_observed(node),
    )


def _without_nulls(node: Node, keys: str) -> bool:
    """Return whether a filter below an exchange leaves out rows whose first key is null."""
    first = keys.partition(",")[0]
    return any(f"isnotnull({first})" in each.text for each in _all(node))


def _observed(exchange: Node) -> str | None:
    """Return the name of the metrics that are collected of the rows of an exchange."""
    node = exchange
    while len(node.children) == 1 and (node is exchange or _is_wrapper(node)):
        (node,) = node.children
    name = node.text.removeprefix(_METRICS).partition(",")[0].strip()
    return name if node.name == _METRICS and name else None


def _combines(node: Node) -> bool:
    """Return whether the operator before a shuffle combines rows by key."""
    while _is_wrapper(node) and len(node.children) == 1:
        (node,) = node.children
    aggregates = node.name.endswith("Aggregate") and "Aggregate(" in node.text
    return aggregates and ("partial_" in node.text or "functions=[]" in node.text)


def split_keys(text: str) -> Iterator[str]:
    """Split the text of several keys at the commas between them, and drop Spark's column ids.

    Examples
    --------
    >>> list(split_keys("customer#12L, concat(shop name#3, -)#7"))
    ['customer', 'concat(shop name, -)']
    """
    depth, part = 0, ""
    for character in _NUMBER_OF_COLUMN.sub("", text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += character
    if part.strip():
        yield part.strip()
