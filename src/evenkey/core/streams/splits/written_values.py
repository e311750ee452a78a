"""Read the times and values of records from texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.columns import EVENT_TIME, Columns, value_name
from evenkey.core.streams.splits.times import read_times
from evenkey.core.streams.splits.typed import read_values

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_extra(
    columns: Columns, texts: Mapping[str, pa.StringArray], lines: int
) -> tuple[dict[str, pa.Array], pa.StringArray]:
    """Read the event times and the values from texts; also return the reasons where this fails."""
    found: dict[str, pa.Array] = {}
    faults = [pa.nulls(lines, pa.string())]
    if columns.time is not None:
        found[EVENT_TIME], fault = read_times(texts[columns.time], columns.time)
        faults.append(fault)
    for number, (name, kind) in enumerate(columns.values):
        found[value_name(number)], fault = read_values(texts[name], kind, name)
        faults.append(fault)
    return found, pc.coalesce(*faults)
