"""The base class of splitters for raw lines that programs also send to topics as JSON objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages, Splitter
from evenkey.core.streams.splits.fields import read_counts
from evenkey.core.streams.splits.json_lines import JsonLines

if TYPE_CHECKING:
    from evenkey.core.streams.splits.columns import Columns


@dataclass(frozen=True)
class RawOrJson(Splitter, ABC):
    """Finds one message in each line: a raw line, or a JSON object, which begins with ``{``.

    The DKG paper's programs read a raw line and send its fields to a topic as a JSON object; a
    splitter with `fields` reads both.
    """

    fields: ClassVar[Columns]
    """Fields of the JSON objects with the key and, if records have weights, the count."""

    @abstractmethod
    def _raw(self, text: pa.StringArray) -> RawMessages:
        """Find the message of each raw line."""

    def _keys(self, texts: pa.StringArray) -> pa.StringArray:
        """Make the keys from the texts of the key fields, of raw lines as of JSON objects."""
        return texts

    def _find(self, text: pa.StringArray) -> RawMessages:
        raw = self._raw(text)
        found = raw._replace(key=self._keys(raw.key))
        objects = pc.starts_with(text, "{")
        if not pc.any(objects).as_py():
            return found
        columns, fault = JsonLines(self.fields).read(text.filter(objects).cast(pa.binary()))
        (name,) = self.fields.key
        none = pa.scalar(None, pa.string())
        missing = pc.if_else(pc.is_null(columns[name]), f"there is no field {name!r}", none)
        fault, count = pc.coalesce(fault, missing), pa.repeat(1, len(fault))
        if self.fields.count is not None:
            count, bad = read_counts(columns[self.fields.count])
            fault = pc.coalesce(fault, bad)
        return found._replace(
            key=pc.replace_with_mask(found.key, objects, self._keys(columns[name])),
            count=pc.replace_with_mask(found.count, objects, count),
            fault=pc.replace_with_mask(found.fault, objects, fault),
        )
