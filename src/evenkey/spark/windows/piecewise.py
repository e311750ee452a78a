"""Compute windows on pieces of the hot keys, and add what other pieces carry over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.plans.lookup import HASH
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.windows.neighbour_rows import neighbour_aggregates, with_copies
from evenkey.spark.windows.order_pieces import exchanged, is_hot, with_pieces
from evenkey.spark.windows.piece_tables import HotRows, Pieces, ends_of, with_carries, with_totals
from evenkey.spark.windows.served_columns import COPY, NO_COPY
from evenkey.spark.windows.window_request import left_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from evenkey.groupings import Snapshot
    from evenkey.spark.windows.order_cuts import Cuts
    from evenkey.spark.windows.served_columns import Served
    from evenkey.spark.windows.window_request import WindowRequest


def piecewise(request: WindowRequest, plan: Snapshot, cuts: Cuts) -> DataFrame:
    """Return the rows with all columns of a request.

    Parameters
    ----------
    request
        The checked arguments of `over`.
    plan
        Arrays of the plan of keys.
    cuts
        The pieces of the hot keys.
    """
    keys, served = request.keys, request.served
    arrays = cuts.columns(keys.frame, request.orders)
    hashed = keys.frame.withColumn(HASH, keys.hashed)
    rows, of_hot_keys = (
        with_pieces(each, request.orders, cuts, arrays)
        for each in (hashed, hashed.where(is_hot(cuts)))
    )
    hot = HotRows(of_hot_keys, keys.quoted_names, request.orders, arrays)
    parts = {name: part for each in served for name, part in each.parts.items()}
    aggregates = parts | neighbour_aggregates(hot, request.neighbours)
    ends = ends_of(served) | request.neighbours.ends
    pieces = Pieces(hot, len(cuts.workers), aggregates, ends)
    if request.neighbours:
        rows = with_copies(rows, pieces, request.frame, request.neighbours)
    rows = exchanged(rows, keys, Fixed(plan), cuts, request.workers)
    rows = rows.withColumns({name: own for each in served for name, own in each.own.items()})
    if request.neighbours:
        rows = rows.where(F.col(COPY) == NO_COPY)
    rows = with_totals(with_carries(rows, pieces, served), pieces, served)
    rows = rows.withColumns(
        {
            given.name: F.col(left_name(number))
            if isinstance(steps, str)
            else _as_declared(steps, given.field)
            for number, (given, steps) in enumerate(zip(request.given, request.steps, strict=True))
        }
    )
    return rows.drop(*(name for name in rows.columns if name.startswith(OWN)))


def _as_declared(steps: Served, field: StructField) -> Column:
    """Give a result the type and the nullability that Spark's own window has."""
    if steps.way == "neighbours":
        return steps.result
    result = steps.result.cast(field.dataType)
    # Numbers and counts are never null, but Spark would declare that they may be.
    return result if field.nullable else F.coalesce(result, F.lit(0).cast(field.dataType))
