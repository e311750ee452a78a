"""Splitters for data sets of the DKG paper whose lines are rows of a table without a header."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages, Splitter
from evenkey.core.streams.splits.fields import Fields, read_counts

_SECONDS = r"^[0-9]+(\.[0-9]+)?$"


@dataclass(frozen=True)
class _Table(Splitter, ABC):
    """Lines of fields with a separator between them; class variables hold the index of each field.

    The time in a line is checked but not used: a message has the event time that is assigned to its
    line.
    """

    separator: ClassVar[str] = "\t"
    width: ClassVar[int]
    key: ClassVar[int]
    count: ClassVar[int | None] = None
    seconds: ClassVar[int | None] = None

    def _find(self, text: pa.StringArray) -> RawMessages:
        records = pc.split_pattern(text, self.separator)
        fields = Fields(records, self.width, f"the number of fields is {{}}, not {self.width}")
        fault, count = fields.fault, pa.array(np.ones(len(text), dtype=np.int64))
        if self.seconds is not None:
            fault = pc.coalesce(fault, _bad_seconds(fields.column(self.seconds)))
        if self.count is not None:
            count, bad = read_counts(fields.column(self.count))
            fault = pc.coalesce(fault, bad)
        line = pa.array(np.arange(len(text)))
        return RawMessages(line, self._keys(fields.column(self.key)), count, fault)

    def _keys(self, texts: pa.StringArray) -> pa.StringArray:
        """Make the keys from the key fields."""
        return texts


def _bad_seconds(texts: pa.StringArray) -> pa.StringArray:
    shown = pc.utf8_slice_codeunits(texts, 0, 80)
    bad = pc.binary_join_element_wise("the time '", shown, "' is not a number of seconds", "")
    return pc.if_else(pc.match_substring_regex(texts, _SECONDS), pa.scalar(None, pa.string()), bad)


@dataclass(frozen=True)
class TwitterTicker(_Table):
    r"""Ticker symbols in tweets: ``epochSeconds<TAB>ticker``; the key is the ticker.

    Examples
    --------
    >>> TwitterTicker().split(pa.array([b"1383289200\tAAPL"])).messages["key"].to_pylist()
    ['AAPL']
    """

    name: ClassVar[str] = "twitter-ticker"
    width: ClassVar[int] = 2
    seconds: ClassVar[int | None] = 0
    key: ClassVar[int] = 1


@dataclass(frozen=True)
class WikipediaPageviews(_Table):
    r"""Pages visited: ``epochSeconds<TAB>url``; the key is the page's name in the English wiki.

    The key of any other address is the address itself.

    Examples
    --------
    >>> line = b"1199145600.1\thttp://en.wikipedia.org/wiki/Ankara"
    >>> WikipediaPageviews().split(pa.array([line])).messages["key"].to_pylist()
    ['Ankara']
    """

    name: ClassVar[str] = "wikipedia-pageviews"
    width: ClassVar[int] = 2
    seconds: ClassVar[int | None] = 0
    key: ClassVar[int] = 1
    _PREFIX: ClassVar[str] = r"^http://en\.wikipedia\.org/wiki/"

    def _keys(self, texts: pa.StringArray) -> pa.StringArray:
        return pc.replace_substring_regex(texts, self._PREFIX, "")


@dataclass(frozen=True)
class WikipediaPageviewsByLang(_Table):
    """Visits by language: ``site page visits bytes``; the key is the site up to its first dot.

    Examples
    --------
    >>> split = WikipediaPageviewsByLang().split(pa.array([b"en.m Ankara 5 0", b"tr Ankara 5"]))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'en', 'count': 5}]
    >>> split.rejected["reason"].to_pylist()
    ['the number of fields is 3, not 4']
    """

    name: ClassVar[str] = "wikipedia-pageviews-by-lang"
    separator: ClassVar[str] = " "
    width: ClassVar[int] = 4
    key: ClassVar[int] = 0
    count: ClassVar[int | None] = 2

    def _keys(self, texts: pa.StringArray) -> pa.StringArray:
        return pc.replace_substring_regex(texts, r"(?s)\..*", "")


@dataclass(frozen=True)
class WikipediaClickstream(_Table):
    r"""Links followed: ``from<TAB>to<TAB>type<TAB>clicks``; the key is `to`, the count `clicks`.

    Examples
    --------
    >>> split = WikipediaClickstream().split(pa.array([b"Turkey\tAnkara\tlink\t12"]))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'Ankara', 'count': 12}]
    """

    name: ClassVar[str] = "wikipedia-clickstream"
    width: ClassVar[int] = 4
    key: ClassVar[int] = 1
    count: ClassVar[int | None] = 3
