"""The base class of splitters for records with columns, which can also return columns as text."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from evenkey.core.streams.splits.base import Splitter, decode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from evenkey.core.streams.splits.columns import Columns


class ColumnSplitter(Splitter):
    """Finds the messages in records whose columns, or fields, have names."""

    columns: Columns
    """Columns that make a message: the wanted columns."""

    @property
    def extra(self) -> pa.Schema:
        """Columns of the event time and the values, from `Columns.extra`."""
        return self.columns.extra

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that each record has; empty if only the records themselves name columns."""
        return ()

    def with_columns(self, columns: Columns) -> Self:
        """Return the same splitter with other columns."""
        replaced: Self = dataclasses.replace(cast("Any", self), columns=columns)
        return replaced

    def read(self, lines: pa.BinaryArray) -> tuple[Mapping[str, pa.StringArray], pa.StringArray]:
        """Read the wanted columns of raw lines.

        Returns
        -------
        tuple
            The wanted columns by name, string[n], null where a line has no value or cannot be read;
            and the reasons why lines cannot be read, string[n], null where they can be read.
        """
        readable, unreadable = decode(lines)
        values, fault = self._values(readable.text)
        # Lines that are text get values; all others get nulls, and the reason from `decode`.
        places = np.full(len(lines), -1)
        places[readable.line] = np.arange(len(readable.line))
        order = pa.array(places, mask=places < 0)
        places[unreadable["line"]] = np.arange(len(readable.line), len(lines))
        reasons = unreadable["reason"].combine_chunks()
        faults = pa.concat_arrays([fault, reasons]).take(pa.array(places))
        return {name: each.take(order) for name, each in values.items()}, faults

    def fields(self, text: pa.StringArray) -> tuple[set[str], dict[str, None]]:
        """Return the wanted columns that occur (also as null), and the names of all columns."""
        del text
        return set(self.columns.names), dict.fromkeys(self.names)

    @abstractmethod
    def texts(self, text: pa.StringArray) -> Mapping[str, pa.StringArray]:
        """Read the wanted columns as they are written; null if there is no value."""

    @abstractmethod
    def _values(self, text: pa.StringArray) -> tuple[Mapping[str, pa.StringArray], pa.StringArray]:
        """Read the wanted columns of lines that are text; the result is that of `read`."""
